"""The whole server, as a process of its own."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from tests.machine.fixtures import Live
from tests.machine.ports import LOOPBACK
from tests.machine.servers import Cluster
from tests.machine.visiting import Visitor

SIGN_IN = "/sign-in"


def test_the_printed_link_signs_in_once(live: Live):
    server = live()
    owner, late = Visitor(server.url), Visitor(server.url)
    assert server.link.startswith(f"{server.url}/sign-in#")
    assert owner.sign_in(server.link).url == f"{server.url}/"
    assert "Demo" in owner.get().text
    assert late.sign_in(server.link).status == 403
    assert SIGN_IN in late.get().url


def test_nothing_is_open_without_the_link(live: Live):
    stranger = Visitor(live().url)
    for path in ("/", "/conversations", "/questions", "/audit", "/conversations/1"):
        assert SIGN_IN in stranger.get(path).url
    assert stranger.get(f"{SIGN_IN}/guessed").status == 404
    with stranger.socket() as heard, pytest.raises(ConnectionClosed):
        heard.recv(timeout=10)


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_0_while_a_socket_is_open(live: Live, by: signal.Signals):
    server = live()
    owner = Visitor(server.url)
    owner.sign_in(server.link)
    with owner.socket() as heard:
        heard.send('{"desk": true, "shown": []}')
        heard.recv(timeout=10)
        assert server.stop(by) == 0
        with pytest.raises(ConnectionClosed):
            drain(heard)
    assert "Traceback" not in server.log_text()


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_second_start_keeps_everything(live: Live, how: str):
    server = live()
    owner = Visitor(server.url)
    owner.sign_in(server.link)
    before, first_link = owner.get().text, server.link
    getattr(server, how)()
    server.start(seconds=20)
    assert server.link != first_link
    again = owner.get()
    assert again.url == f"{server.url}/", "the sign-in outlives the process"
    assert before.count('href="/conversations/') == again.text.count('href="/conversations/') > 1


def drain(heard: ClientConnection) -> None:
    """Read until the socket closes."""
    while True:
        heard.recv(timeout=10)


def refusal(output: str) -> str:
    """Return the one line that was printed."""
    lines = output.splitlines()
    assert len(lines) == 1, output
    return lines[0]


def test_a_taken_port_is_one_line(live: Live):
    with socket.create_server((LOOPBACK, 0)) as other:
        port = other.getsockname()[1]
        code, printed = live(start=False, port=port).run()
    assert code != 0
    assert f"Port {port}" in refusal(printed)


def test_a_second_server_on_the_same_data_is_refused(live: Live):
    first = live()
    code, printed = live(start=False, data=first.data).run()
    assert code != 0
    assert str(first.data) in refusal(printed)
    assert Visitor(first.url).get(SIGN_IN).status == 200


def test_a_folder_without_jp_is_one_line_and_leaves_nothing(live: Live, tmp_path: Path):
    bare = tmp_path / "bare"
    bare.mkdir()
    server = live(start=False, workspace=bare)
    code, printed = server.run()
    assert code != 0
    assert str(bare) in refusal(printed)
    assert not list(server.data.glob("*.sqlite3"))


def test_it_serves_from_postgres_and_redis(live: Live, postgres: Cluster, redis_url: str):
    server = live(DATABASE_URL=postgres.make_migrated(), REDIS_URL=redis_url)
    owner = Visitor(server.url)
    assert "Demo" in owner.sign_in(server.link).text
    with owner.socket() as heard:
        heard.send('{"desk": true, "shown": []}')
        assert heard.recv(timeout=10)
        assert server.stop() == 0
    assert not list(server.data.glob("*.sqlite3"))
    assert "Traceback" not in server.log_text()

"""The whole server, as a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from jpweb.cli.management.commands import serve
from jpweb.store import bootstrap
from jpweb.store.errors import NoWorkspace
from tests.machine.fixtures import Live
from tests.machine.ports import LOOPBACK
from tests.machine.servers import Cluster
from tests.machine.serving import Server, run_server
from tests.machine.templates import copy_migrated_sqlite
from tests.machine.visiting import Visitor

SIGN_IN = "/sign-in"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Run a server that goes on through the tests; one of them uses its link up."""
    with run_server(tmp_path_factory.mktemp("serve") / "data") as running_server:
        yield running_server


def test_the_printed_link_signs_in_once(server: Server):
    owner, late_visitor = Visitor(server.url), Visitor(server.url)
    assert server.link.startswith(f"{server.url}/sign-in#")
    assert owner.sign_in(server.link).url == f"{server.url}/"
    assert "Demo" in owner.get().text
    assert late_visitor.sign_in(server.link).status == 403
    assert SIGN_IN in late_visitor.get().url


def test_server_pages_require_a_sign_in(server: Server):
    stranger = Visitor(server.url)
    for path in ("/", "/conversations", "/questions", "/audit", "/conversations/1"):
        assert SIGN_IN in stranger.get(path).url
    assert stranger.get(f"{SIGN_IN}/guessed").status == 404
    with stranger.socket() as connection, pytest.raises(ConnectionClosed):
        connection.recv(timeout=10)


def end_beside_a_socket(server: Server, owner: Visitor, by: signal.Signals) -> int:
    """End a server while a page is open; return its code."""
    with owner.socket() as connection:
        connection.send('{"inbox": true, "questions": []}')
        connection.recv(timeout=10)
        code = server.stop(by)
        with pytest.raises(ConnectionClosed):
            drain(connection)
    return code


@pytest.mark.chaos
def test_server_that_ends_keeps_everything_for_the_next_start(live: Live):
    begun_at = time.monotonic()
    server = live()
    # What an ended server leaves behind holds up no start: it takes about as long as the first.
    patience = max(20, 3 * (time.monotonic() - begun_at))
    owner = Visitor(server.url)
    before = owner.sign_in(server.link).text
    links = [server.link]
    for by, code in ((signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)):
        assert end_beside_a_socket(server, owner, by) == code
        links.append(server.start(seconds=patience).link)
        page = owner.get()
        assert page.url == f"{server.url}/", "the sign-in outlives the process"
        assert before.count('href="/conversations/') == page.text.count('href="/conversations/')
    assert end_beside_a_socket(server, owner, signal.SIGINT) == 0
    assert before.count('href="/conversations/') > 1
    assert len(set(links)) == len(links)
    assert "Traceback" not in server.log_text()


def drain(connection: ClientConnection) -> None:
    """Read until the socket closes."""
    while True:
        connection.recv(timeout=10)


def refusal(output: str) -> str:
    """Return the one line that was printed."""
    lines = output.splitlines()
    assert len(lines) == 1, output
    return lines[0]


def test_a_taken_port_is_one_line(live: Live):
    with socket.create_server((LOOPBACK, 0)) as listener:
        port = listener.getsockname()[1]
        code, output = live(start=False, port=port).run()
    assert code != 0
    assert f"Port {port}" in refusal(output)


#: Runs what follows it, where another process takes the port once it was found to be free.
_LATE = (
    "import sys; from jpweb.cli import daphne_server, entrypoint; "
    "daphne_server.check_port = lambda port: None; entrypoint.main(sys.argv[2:])"
)


@pytest.mark.proof  # a moment's race; test_a_taken_port_is_one_line refuses one taken before
def test_port_that_is_taken_during_the_start_is_refused(live: Live):
    with socket.create_server((LOOPBACK, 0)) as listener:
        port = listener.getsockname()[1]
        server = live(start=False, port=port)
        copy_migrated_sqlite(server.data)
        server.wrapper = (sys.executable, "-c", _LATE)
        code, output = server.run()
    assert code == 1
    assert [line for line in output.splitlines() if not line.startswith("Demo: ")] == [
        f"CommandError: Port {port} on {LOOPBACK} cannot be used: Address already in use. Stop "
        "what uses it, or choose another: JPWEB_PORT=8001 make run"
    ]


def test_a_second_server_on_the_same_data_is_refused(server: Server):
    second = Server(server.data)  # which prints to the same file
    code, output = second.run()
    assert code != 0
    assert str(server.data) in refusal(output)
    assert Visitor(server.url).get(SIGN_IN).status == 200


@pytest.mark.proof  # test_commands.py mirrors one; test_a_taken_port_is_one_line prints a refusal
def test_a_folder_without_jp_is_one_line_and_leaves_nothing(live: Live, tmp_path: Path):
    bare = tmp_path / "bare"
    bare.mkdir()
    server = live(start=False, workspace=bare)
    code, output = server.run()
    assert code != 0
    assert str(bare) in refusal(output)
    assert not list(server.data.glob("*.sqlite3"))


def test_serve_refuses_a_folder_without_jp_before_it_prepares_a_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bootstrap, "prepare_database", lambda *_: pytest.fail("it is prepared"))
    with pytest.raises(NoWorkspace, match=str(tmp_path)):
        serve.Command()._prepare_data(tmp_path)


def test_server_runs_on_postgresql_and_redis_and_stops(
    live: Live, postgres: Cluster, redis_url: str
):
    """It accepts no more connections once the open ones are closed."""
    server = live(DATABASE_URL=postgres.make_migrated(), REDIS_URL=redis_url)
    owner = Visitor(server.url)
    assert "Demo" in owner.sign_in(server.link).text
    with owner.socket() as connection:
        connection.send('{"inbox": true, "questions": []}')
        assert connection.recv(timeout=10)
        os.kill(server.pid, signal.SIGTERM)
        with pytest.raises(ConnectionClosed):
            drain(connection)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((LOOPBACK, server.port)).close()
    assert server.stop() == 0
    assert not list(server.data.glob("*.sqlite3"))
    assert "Traceback" not in server.log_text()

"""Strangers at a real server: half requests, large bodies, and codes in its log."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial

import pytest

from jpweb.cli.http_limits import HEAD_SECONDS
from tests.machine.ports import LOOPBACK, wait_until
from tests.machine.serving import Server, run_server
from tests.machine.sizes import choose_size
from tests.machine.visiting import Visitor

_LINK = re.compile(r"data-link>([^<]+)<")
_HALF = (b"", b"GET", b"POST /sign-in HTTP/1.1\r\nHost: x\r\nX-Long: ")
HALF_OPEN = choose_size(60, 600)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("strangers") / "data"
    with run_server(data, JPWEB_LOG_LEVEL="DEBUG") as running_server:
        yield running_server


@pytest.fixture(scope="module")
def owner(server: Server) -> Visitor:
    visitor = Visitor(server.url)
    assert visitor.sign_in(server.link).status == 200
    return visitor


def connect(server: Server) -> socket.socket:
    return socket.create_connection((LOOPBACK, server.port), timeout=20)


def is_over(line: socket.socket) -> bool:
    """Tell whether the server has ended a connection on which it said nothing."""
    line.setblocking(False)
    try:
        return line.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


@pytest.mark.chaos
def test_half_open_requests_are_closed_and_block_no_other_request(server: Server, owner: Visitor):
    with ExitStack() as stack:
        lines = [stack.enter_context(connect(server)) for _ in range(HALF_OPEN)]
        for number, line in enumerate(lines):
            with suppress(ConnectionError):  # a slow machine: the server has ended it by now
                line.sendall(_HALF[number % len(_HALF)])
        assert owner.get("/conversations").status == 200  # on a connection of its own
        for line in lines:
            wait_until(partial(is_over, line), "it is ended", HEAD_SECONDS * 3)


@pytest.mark.parametrize("head", [b"Content-Length: 200000000", b"Transfer-Encoding: chunked"])
def test_a_large_body_of_a_stranger_is_refused_at_once(server: Server, head: bytes):
    with connect(server) as line:
        line.sendall(b"POST /sign-in HTTP/1.1\r\nHost: localhost\r\n" + head + b"\r\n\r\n")
        if b"chunked" in head:
            line.sendall((b"8000\r\n" + b"x" * 0x8000 + b"\r\n") * 3)
        assert line.recv(100).startswith(b"HTTP/1.1 413 ")
    assert Visitor(server.url).get("/sign-in").status == 200


def test_server_log_has_no_codes_of_links(server: Server, owner: Visitor):
    eve = Visitor(server.url)
    people = re.findall(r'href="(/workspaces/\d+/people)"', owner.get("/settings").text)[0]
    reply = owner.post(f"{people}/invite", people, name="Eve", role="10")
    links = _LINK.findall(reply.text) + _LINK.findall(owner.post("/account/link", "/account").text)
    codes = [link.partition("#")[2] for link in links]
    assert len(codes) == 2
    assert eve.get(links[0]).status == 200
    assert eve.post("/join", "/join", code=codes[0], do="join").status == 200
    assert Visitor(server.url).sign_in(links[1]).status == 200
    log = server.log_text()
    assert "jpweb.security: joined" in log
    assert [code for code in codes if code in log] == []

"""Connections to a real server: of strangers, and with several requests, as proxies send them."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial

import pytest

from jpweb.cli.http_limits import HEAD_SECONDS
from jpweb.runtime.broadcast.close_codes import SIGNED_OUT
from tests.machine.ports import LOOPBACK, wait_until
from tests.machine.serving import Server, run_server
from tests.machine.sizes import choose_size
from tests.machine.visiting import Visitor

_LINK = re.compile(r"data-link>([^<]+)<")
_HALF = (b"", b"GET", b"POST /sign-in HTTP/1.1\r\nHost: x\r\nX-Long: ")
HALF_OPEN = choose_size(60, 600)
_UPGRADED = re.compile(rb"HTTP/1\.1 101 .*?\r\n\r\n", re.DOTALL)
_STATUS_LINE = re.compile(rb"HTTP/1\.1 (\d+) ")
#: A text frame of a client, whose mask of zeros leaves the text as it is, and the first byte of a
#: server's (RFC 6455, section 5.2).
_HELLO = b"\x81\x91\0\0\0\0" + b'{"questions": []}'
_TEXT_FRAME = b"\x81"
#: The server's frame that closes a socket without a session.
_CLOSE_FRAME = re.compile(re.escape(b"\x88\x02" + SIGNED_OUT.to_bytes(2, "big")) + b"$")
#: A synchronous view, an asynchronous view, and none.
_PATHS = ("/sign-in", "/audit.jsonl", "/nowhere")


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


def make_request(server: Server, path: str, visitor: Visitor | None, headers: str = "") -> bytes:
    """Return a request of a visitor, or of a stranger."""
    cookies = visitor.cookies if visitor else ()
    cookie = "; ".join(f"{cookie.name}={cookie.value}" for cookie in cookies)
    head = f"GET {path} HTTP/1.1\r\nHost: {LOOPBACK}:{server.port}\r\nOrigin: {server.url}\r\n"
    return f"{head}Cookie: {cookie}\r\n{headers}\r\n".encode()


def make_upgrade(server: Server, visitor: Visitor | None) -> bytes:
    """Return a request for a WebSocket."""
    upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    return make_request(server, "/ws", visitor, upgrade + key)


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


def read_until(line: socket.socket, pattern: re.Pattern[bytes], count: int = 1) -> bytes:
    """Return what arrives up to the match with this number, or up to the end."""
    received = b""
    while len(pattern.findall(received)) < count and (part := line.recv(65536)):
        received += part
    return received


@pytest.mark.parametrize("path", _PATHS)
@pytest.mark.parametrize("is_pipelined", [True, False], ids=["one packet", "after the response"])
def test_a_socket_behind_a_request_answers_its_hello(
    server: Server, owner: Visitor, path: str, is_pipelined: bool
):
    first_request, upgrade = make_request(server, path, owner), make_upgrade(server, owner)
    with connect(server) as line:
        if is_pipelined:
            line.sendall(first_request + upgrade)
        else:
            line.sendall(first_request)
            assert read_until(line, _STATUS_LINE)
            line.sendall(upgrade)
        assert _UPGRADED.search(read_until(line, _UPGRADED))
        line.sendall(_HELLO)
        assert line.recv(1) == _TEXT_FRAME
    assert "Traceback" not in server.log_text()


@pytest.mark.parametrize("path", _PATHS)
def test_a_strangers_socket_behind_a_request_is_closed(server: Server, path: str):
    with connect(server) as line:
        line.sendall(make_request(server, path, None) + make_upgrade(server, None))
        assert _CLOSE_FRAME.search(read_until(line, _CLOSE_FRAME))
    assert "Traceback" not in server.log_text()


@pytest.mark.parametrize("paths", [_PATHS, _PATHS[::-1]], ids=["forwards", "backwards"])
def test_requests_in_one_packet_are_answered_in_their_order(
    server: Server, owner: Visitor, paths: tuple[str, ...]
):
    statuses = {"/sign-in": b"200", "/audit.jsonl": b"200", "/nowhere": b"404"}
    with connect(server) as line:
        line.sendall(b"".join(make_request(server, path, owner) for path in paths))
        received = read_until(line, _STATUS_LINE, len(paths))
    assert _STATUS_LINE.findall(received) == [statuses[path] for path in paths]
    assert "Traceback" not in server.log_text()

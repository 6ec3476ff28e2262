"""Several requests on one connection to a real server, as proxies send them and strangers may."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from jpweb.runtime.broadcast.close_codes import SIGNED_OUT
from tests.machine.ports import LOOPBACK
from tests.machine.serving import Server, run_server
from tests.machine.visiting import Visitor

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
    with run_server(tmp_path_factory.mktemp("kept") / "data") as running_server:
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


def connect(server: Server) -> closing[socket.socket]:
    return closing(socket.create_connection((LOOPBACK, server.port), timeout=20))


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

"""Heads of requests to a real server: headers that would change pages, and lines of its log."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest

from tests.machine.ports import LOOPBACK
from tests.machine.serving import Server, run_server
from tests.machine.visiting import Visitor
from tests.security.neighbor import Neighbor

_FOREIGN_SITE = "https://elsewhere.invalid"
_UPGRADE = (
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)
_SOCKET_HEAD = f"Host: localhost\r\nOrigin: http://localhost\r\n{_UPGRADE}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with run_server(tmp_path_factory.mktemp("heads") / "data") as running_server:
        yield running_server


@pytest.fixture(scope="module")
def owner(server: Server) -> Visitor:
    visitor = Visitor(server.url)
    assert visitor.sign_in(server.link).status == 200
    return visitor


def make_cookie(visitor: Visitor) -> str:
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in visitor.cookies)


def get(server: Server, path: str, **headers: str) -> tuple[int, str]:
    line = HTTPConnection(LOOPBACK, server.port, timeout=20)
    try:
        line.request("GET", path, headers=headers)
        response = line.getresponse()
        return response.status, response.read().decode()
    finally:
        line.close()


def upgrade(server: Server, target: str, visitor: Visitor, headers: str = "") -> bytes:
    """Return the status line of a request for a WebSocket."""
    head = (
        f"GET {target} HTTP/1.1\r\nHost: {LOOPBACK}:{server.port}\r\nOrigin: {server.url}\r\n"
        f"Cookie: {make_cookie(visitor)}\r\n{_UPGRADE}{headers}\r\n"
    )
    with socket.create_connection((LOOPBACK, server.port), timeout=20) as line:
        line.sendall(head.encode("latin-1"))
        return line.recv(1000).partition(b"\r\n")[0]


#: Headers by which some servers and proxies name the site, or the prefix of its addresses.
_FOREIGN_HEADERS = {
    "Daphne-Root-Path": _FOREIGN_SITE,
    "X-Script-Name": _FOREIGN_SITE,
    "X-Forwarded-Prefix": _FOREIGN_SITE,
    "X-Forwarded-Host": "elsewhere.invalid",
    "Forwarded": "host=elsewhere.invalid",
}


def test_no_header_of_a_client_changes_the_addresses_of_pages(server: Server, owner: Visitor):
    neighbor = Neighbor(server, owner)
    cookie, page = make_cookie(neighbor.visitor), neighbor.conversation
    status, text = get(server, page, Cookie=cookie, **_FOREIGN_HEADERS)
    assert (status, "elsewhere.invalid" in text) == (200, False)
    assert "elsewhere.invalid" not in owner.get(page).text


#: Heads that strangers send, and lines of the log for each; a line break follows.
_REFUSED_HEADS = {
    "host": "GET / HTTP/1.1\r\nHost: elsewhere.invalid\r\n",
    "long host": f"GET / HTTP/1.1\r\nHost: {'a.' * 4000}\r\n",
    "fields": f"GET /sign-in?{'a&' * 1001} HTTP/1.1\r\nHost: localhost\r\n",
    "token": f"POST /{'sign-in?' * 500} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n",
    "socket's path": f"GET /nowhere HTTP/1.1\r\n{_SOCKET_HEAD}",
    "subprotocol": f"GET /ws HTTP/1.1\r\n{_SOCKET_HEAD}Sec-WebSocket-Protocol: \xe9\r\n",
}
#: Requests of each kind, and bytes of the log for all.
_REFUSED_COUNT, _MAX_LOGGED_BYTES = 30, 20 * 400


@pytest.mark.parametrize("head", _REFUSED_HEADS.values(), ids=_REFUSED_HEADS)
def test_refused_requests_of_a_stranger_do_not_fill_the_log(server: Server, head: str):
    logged_bytes = len(server.log_text())
    for _ in range(_REFUSED_COUNT):
        with socket.create_connection((LOOPBACK, server.port), timeout=20) as line:
            line.sendall(f"{head}\r\n".encode("latin-1"))
            assert re.match(rb"HTTP/1.1 4\d\d ", line.recv(1000))
    log = server.log_text()[logged_bytes:]
    assert len(log) < _MAX_LOGGED_BYTES, log[:2000]
    assert "Traceback" not in log


def test_no_header_of_a_client_changes_the_path_of_a_websocket(server: Server, owner: Visitor):
    assert b" 101 " in upgrade(server, "/ws", owner, "Daphne-Root-Path: /ws\r\n")

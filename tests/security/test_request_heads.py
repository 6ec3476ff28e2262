"""Heads of requests to a real server: headers that would change pages, and lines of its log."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest

from tests.machine.ports import LOOPBACK
from tests.machine.serving import Server, run_server
from tests.machine.visiting import Visitor
from tests.security.neighbour import Neighbour

_FOREIGN_SITE = "https://elsewhere.invalid"
_UPGRADE = (
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


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
    neighbour = Neighbour(server, owner)
    cookie, page = make_cookie(neighbour.visitor), neighbour.conversation
    status, text = get(server, page, Cookie=cookie, **_FOREIGN_HEADERS)
    assert (status, "elsewhere.invalid" in text) == (200, False)
    assert "elsewhere.invalid" not in owner.get(page).text


def test_no_header_of_a_client_changes_the_path_of_a_websocket(server: Server, owner: Visitor):
    assert b" 101 " in upgrade(server, "/ws", owner, "Daphne-Root-Path: /ws\r\n")

"""Heads of requests to a real server: headers that would change pages or fail, and its log."""

from __future__ import annotations

import random
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection

import pytest

from tests.machine.ports import LOOPBACK
from tests.machine.serving import Server, run_server
from tests.machine.sizes import IS_PROOF, choose_size
from tests.machine.visiting import Visitor
from tests.security.neighbor import Neighbor

_FOREIGN_SITE = "https://elsewhere.invalid"
_UPGRADE = (
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)
_HTMX_HEAD = "GET /conversations HTTP/1.1\r\nHost: localhost\r\nHX-Request: true\r\n"
_FORM_HEAD = (
    f"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nCookie: jpweb_csrf={'a' * 32}\r\n"
    "Content-Length: 0\r\nContent-Type: application/x-www-form-urlencoded"
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
    "root path": "GET / HTTP/1.1\r\nHost: localhost\r\nDaphne-Root-Path: \xe9\r\n",
    **{
        f"current URL {url}": f"{_HTMX_HEAD}HX-Current-URL: {url}\r\n"
        for url in ("http://[::1", *(("http://[x]/", "//[") if IS_PROOF else ()))
    },
    "encoded current URL": f"{_HTMX_HEAD}HX-Current-URL: http://a%E2%84%80b/\r\n"
    "HX-Current-URL-URI-AutoEncoded: true\r\n",
    **{
        f"form in {charset}": f"{_FORM_HEAD}; charset={charset}\r\n"
        for charset in ("utf-16", *(("hex", "undefined") if IS_PROOF else ()))
    },
}
#: Requests of each kind, and bytes of the log for all.
_REFUSED_COUNT, _MAX_LOGGED_BYTES = 30, 20 * 400


@pytest.mark.parametrize("head", _REFUSED_HEADS.values(), ids=_REFUSED_HEADS)
def test_refused_requests_of_a_stranger_do_not_fill_the_log(server: Server, head: str):
    logged_bytes = len(server.log_text())
    for _ in range(_REFUSED_COUNT):
        with socket.create_connection((LOOPBACK, server.port), timeout=20) as line:
            line.sendall(f"{head}\r\n".encode("latin-1"))
            assert re.match(rb"HTTP/1.1 [234]\d\d ", line.recv(1000))
    log = server.log_text()[logged_bytes:]
    assert len(log) < _MAX_LOGGED_BYTES, log[:2000]
    assert "Traceback" not in log


#: Headers that the server, Django, htmx or a view reads.
_READ_HEADERS = (
    "Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Content-Encoding",
    "Content-Type", "Cookie", "Daphne-Root-Path", "HX-Boosted", "HX-Current-URL",
    "HX-Current-URL-URI-AutoEncoded", "HX-Prompt", "HX-Request", "HX-Target", "HX-Trigger",
    "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Origin",
    "Range", "Referer", "Sec-Fetch-Dest", "Sec-WebSocket-Protocol", "Triggering-Event",
    "User-Agent", "X-CSRFToken", "X-Forwarded-For", "X-Forwarded-Proto",
)  # fmt: skip
#: Headers that say where a request goes and where it ends; an odd one hides all others.
_FRAMING_HEADERS = ("Connection", "Content-Length", "Expect", "Host", "Transfer-Encoding")
_ODD_VALUES = (
    "", "\0", "\xff\xfe", "\xb2", "%ff%fe%", "%ED%A0%80", "true", "null", "{", "[" * 900,
    "a" * 9000, "9" * 5000, "-1", "1e999", "*", ";" * 500, "=" * 500, '"' * 50, "a=b; a=b; =; ;;",
    "http://[::1", "http://[x]/", "//[", "http://localhost:x/", "http://a%E2%84%80b/",
    "http://a\xe2\x84\x80b/", "localhost:\xb2", "bytes=-", "bytes=--1", "bytes=9-1",
    "bytes=0-0,2-3", f"bytes=0-{'9' * 5000}", 'W/"', "Mon, 99 Foo 9999 99:99:99 GMT",
    "Sun, 06 Nov 0000 08:49:37 GMT", "en;q=x", f"de-{'x' * 600}", "q=;;q=,,", "gzip;q=\xb2",
    "text/html; charset=hex", "multipart/form-data", "multipart/form-data; boundary=\xff",
    "multipart/form-data; boundary=x; charset=hex",
    "application/x-www-form-urlencoded; charset=undefined", 'jpweb_session="\\777"',
    "jpweb_csrf=\xff", f"jpweb_csrf={'a' * 32}", "messages=x", "chunked", "100-continue",
)  # fmt: skip
_FUZZED_TARGETS = (
    "GET /", "HEAD /", "OPTIONS /", "GET /conversations", "GET /sign-in", "GET /nowhere",
    "GET /audit.jsonl", "GET /ws", "POST /sign-in", "POST /conversations/new", "POST /join",
)  # fmt: skip
_FUZZED_REQUESTS = choose_size(120, 10_000)


def test_no_odd_header_of_a_client_makes_an_error(server: Server, owner: Visitor):
    static_file = re.search(r'href="(/static/[^"]+)"', owner.get("/").text)
    assert static_file
    targets = (*_FUZZED_TARGETS, f"GET {static_file[1]}")
    choices = random.Random(83)  # noqa: S311  the same requests each time
    logged_bytes = len(server.log_text())
    for _ in range(_FUZZED_REQUESTS):
        headers = {"Host": f"{LOOPBACK}:{server.port}", "Content-Length": "0"}
        if choices.random() < 0.5:
            headers |= {"Cookie": make_cookie(owner), "Origin": server.url}
        odd_names = choices.sample(_READ_HEADERS, choices.choice((1, 4)))
        odd_names += [choices.choice(_FRAMING_HEADERS)] if choices.random() < 0.1 else []
        headers |= {name: choices.choice(_ODD_VALUES) for name in odd_names}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"{choices.choice(targets)} HTTP/1.1\r\n{lines}\r\n"
        with (
            socket.create_connection((LOOPBACK, server.port), timeout=20) as line,
            suppress(ConnectionError),  # a head that is malformed
        ):
            line.sendall(f"{head}0\r\n\r\n".encode("latin-1"))  # no more chunks, if there are any
            assert not line.recv(1000).startswith(b"HTTP/1.1 5"), head
    assert "Traceback" not in server.log_text()[logged_bytes:]


def test_no_header_of_a_client_changes_the_path_of_a_websocket(server: Server, owner: Visitor):
    assert b" 101 " in upgrade(server, "/ws", owner, "Daphne-Root-Path: /ws\r\n")

"""What a connection may take: bytes as they come from a socket, and a clock that is set."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport

from jpweb.cli import http_limits
from jpweb.cli.daphne_server import DaphneServer
from jpweb.cli.http_limits import BoundedFactory
from jpweb.runtime.broadcast.flow_control import FlowControl

FORM = b"POST /sign-in HTTP/1.1\r\nHost: localhost\r\n"
COOKIE = b"Cookie: jpweb_session=x\r\n"
LARGE = http_limits.MAX_ANONYMOUS_BYTES + 1


class Line:
    """One connection: what was sent to it, and which requests it handed on."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.requests: list[bytes] = []
        server: Any = SimpleNamespace(
            connections={},
            protocol_connected=lambda protocol: None,
            protocol_disconnected=lambda protocol: None,
            create_application=self._take,
            proxy_forwarded_address_header=None,
            root_path="",
            request_buffer_size=8192,
        )
        self.channel = BoundedFactory(server).buildProtocol(None)
        self.channel.callLater = self.clock.callLater
        self.transport = StringTransport()
        self.channel.makeConnection(self.transport)

    def _take(self, protocol: Any, scope: Any) -> Any:
        self.requests.append(protocol.content.getvalue())
        return asyncio.Queue()

    def send(self, data: bytes) -> bytes:
        """Send bytes; return all that was answered so far."""
        self.channel.dataReceived(data)
        response_bytes: bytes = self.transport.value()
        return response_bytes

    def passes(self, seconds: float) -> bool:
        """Let time pass; tell whether the connection is aborted."""
        self.clock.advance(seconds)
        return bool(self.transport.disconnected)


@pytest.mark.parametrize("head_bytes", [b"", b"G", b"GET / HTTP/1.1\r\nHost: x\r\nX: "])
def test_a_head_that_does_not_arrive_ends_the_connection(head_bytes: bytes):
    line = Line()
    if head_bytes:
        line.send(head_bytes)
    assert not line.passes(http_limits.HEAD_SECONDS - 1)
    assert line.passes(1)


def test_a_head_that_comes_byte_by_byte_gets_no_more_time():
    line = Line()
    aborted = False
    for _ in range(int(http_limits.HEAD_SECONDS)):
        line.send(b"x")
        aborted = line.passes(1)
    assert aborted


def test_a_body_that_does_not_arrive_ends_the_connection():
    line = Line()
    line.send(FORM + b"Content-Length: 10\r\n\r\n12345")
    assert not line.passes(http_limits.BODY_SECONDS - 1)
    assert line.passes(1)
    assert line.requests == []


def test_a_request_that_is_being_answered_has_all_the_time():
    line = Line()
    line.send(FORM + b"Content-Length: 5\r\n\r\n12345")
    assert line.requests == [b"12345"]
    assert not line.passes(1000)


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize("signed_in", [True, False])
def test_a_body_above_its_limit_is_refused_by_its_length(
    signed_in: bool, is_whole: bool, settings: Any
):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = limit = LARGE * 2
    limit = limit if signed_in else http_limits.MAX_ANONYMOUS_BYTES
    line = Line()
    head = FORM + (COOKIE if signed_in else b"") + b"Content-Length: %d\r\n\r\n"
    answer = line.send(head % (limit + 1))
    assert answer.startswith(b"HTTP/1.1 413 Content Too Large\r\n")
    assert answer.endswith(b"the limit is %d KiB.\n" % (limit // 1024))
    line.send(b"x" * limit)
    assert line.transport.value() == answer, "it is answered once"
    if is_whole:
        line.send(b"x")
        assert line.transport.disconnecting
    else:
        assert line.passes(http_limits.LINGER_SECONDS)
    assert line.requests == []


def test_a_body_of_unknown_length_is_refused_once_it_is_too_large():
    line = Line()
    line.send(FORM + b"Transfer-Encoding: chunked\r\n\r\n")
    piece = b"1000\r\n" + b"x" * 4096 + b"\r\n"
    for _ in range(http_limits.MAX_ANONYMOUS_BYTES // 4096):
        assert line.send(piece) == b""
    assert line.send(piece + b"0\r\n\r\n").startswith(b"HTTP/1.1 413 ")
    assert line.requests == []


def test_a_body_within_its_limit_stays_in_memory():
    line = Line()
    body = b"x" * http_limits.MAX_ANONYMOUS_BYTES
    line.send(FORM + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert line.requests == [body]


async def test_reader_of_a_path_that_is_not_utf8_is_cut_off_when_it_stalls(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(http_limits, "STALL_SECONDS", 0)
    line = Line()
    line.send(b"GET / HTTP/1.1\r\n")
    (request,) = line.channel.requests
    request.path = b"/\xff"
    request._flow_control = FlowControl()
    request._flow_control.pauseProducing()
    await request.drain()
    assert line.passes(0)


def test_the_server_makes_bounded_connections(monkeypatch: pytest.MonkeyPatch):
    servers: list[Any] = []
    monkeypatch.setattr("daphne.server.Server.run", lambda self: servers.append(self))  # noqa: PLW0108  a method
    monkeypatch.setattr("daphne.server.HTTPFactory", None)

    async def end_tasks() -> None:
        """End nothing."""

    DaphneServer(end_tasks, application=None, endpoints=["tcp:port=0"]).run()
    import daphne.server  # noqa: PLC0415  as it is now

    assert (len(servers), daphne.server.HTTPFactory) == (1, BoundedFactory)

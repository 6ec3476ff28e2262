"""HTTP connections with limits: time for a request to arrive, and size of its body.

A streamed response waits for its reader (backpressure).

Twisted would wait forever for a request that arrives byte by byte, and write a large body into
a temporary file before any check. Here a body stays in memory up to its limit, and is refused
beyond: by its declared length, else as it is counted.
"""

from __future__ import annotations

import asyncio
import io
import logging
from typing import Any

from daphne.http_protocol import HTTPFactory, WebRequest
from django.conf import settings
from twisted.web import http

from jpweb.runtime.broadcast.flow_control import FlowControl

logger = logging.getLogger(__name__)

#: Seconds for a request's head, from the connection or the first byte; seconds for its body.
HEAD_SECONDS, BODY_SECONDS = 10.0, 30.0
#: Seconds for which a refused body is read and discarded, so that the browser receives the 413.
LINGER_SECONDS = 2.0
#: Seconds for which a response waits for a stalled reader; networks fail for minutes.
STALL_SECONDS = 300.0
#: Bytes of a body without a session cookie; with one, DATA_UPLOAD_MAX_MEMORY_SIZE applies.
MAX_ANONYMOUS_BYTES = 64 * 1024


class BoundedChannel(http.HTTPChannel):  # type: ignore[misc]  # twisted is untyped here
    """A connection that is aborted where a request does not arrive in time."""

    _deadline: Any = None

    def connectionMade(self) -> None:  # noqa: N802  twisted's name
        super().connectionMade()
        self.expect(HEAD_SECONDS)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802  twisted's name
        if self._deadline is None and not self._handlingRequest:
            self.expect(HEAD_SECONDS)
        super().dataReceived(data)

    def allHeadersReceived(self) -> None:  # noqa: N802  twisted's name
        self.expect(BODY_SECONDS)
        super().allHeadersReceived()

    def allContentReceived(self) -> None:  # noqa: N802  twisted's name
        self.expect(None)
        super().allContentReceived()

    def connectionLost(self, reason: Any) -> None:  # noqa: N802  twisted's name
        self.expect(None)
        super().connectionLost(reason)

    def expect(self, seconds: float | None) -> None:
        """Abort the connection after so many seconds; None removes the deadline."""
        if self._deadline is not None and self._deadline.active():
            self._deadline.cancel()
        self._deadline = None
        if seconds is not None:
            self._deadline = self.callLater(seconds, self.transport.abortConnection)


class BoundedRequest(WebRequest):  # type: ignore[misc]  # daphne is untyped
    """A request whose body stays in memory and within its limit."""

    _limit = 0
    _is_refused = False
    _flow_control: FlowControl | None = None

    def gotLength(self, length: int | None) -> None:  # noqa: N802  twisted's name
        is_signed_in = settings.SESSION_COOKIE_NAME.encode() in self.received_cookies
        self._limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE if is_signed_in else MAX_ANONYMOUS_BYTES
        self.content = io.BytesIO()
        if length is not None and length > self._limit:
            self._refuse_body()

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802  twisted's name
        if self._is_refused:
            return
        if self.content.tell() + len(data) > self._limit:
            self._refuse_body()
        else:
            self.content.write(data)

    def process(self) -> Any:
        """Begin the application, unless the body is refused.

        daphne takes ``root_path`` from the header ``Daphne-Root-Path`` of any client. Every address
        of a page begins with it, also of those that ``web/html_cache.py`` gives to other people.
        """
        self.requestHeaders.removeHeader(b"daphne-root-path")
        if not self._is_refused:
            return super().process()
        return self.channel.loseConnection()

    def handle_reply(self, message: dict[str, Any]) -> None:
        """Send a part of the response; register flow control for a streamed one."""
        has_more = message.get("more_body", message["type"] == "http.response.start")
        if message["type"] == "http.response.body" and not self.finished and self.channel:
            if has_more and self._flow_control is None:
                self._flow_control = FlowControl()
                self.registerProducer(self._flow_control, True)
            elif not has_more and self._flow_control is not None:
                self.unregisterProducer()
        super().handle_reply(message)

    async def drain(self) -> None:
        """Wait until the browser has received the buffer; cut it off after STALL_SECONDS."""
        if (
            self._flow_control is None
            or not self._flow_control.is_paused
            or self.finished
            or self.channel is None
        ):
            return
        resumed_event = asyncio.Event()
        self._flow_control.on_resumed = resumed_event.set
        try:
            async with asyncio.timeout(STALL_SECONDS):
                await resumed_event.wait()
        except TimeoutError:
            self.cut()
            path = self.path.decode(errors="backslashreplace")
            logger.info("%s: connection closed, the browser stopped reading", path)

    def cut(self) -> None:
        """Abort the connection, so that the browser recognises an incomplete response."""
        if self.channel is not None:
            self.channel.transport.abortConnection()

    def cut_unfinished(self, _: object = None) -> None:
        """Abort the connection of a response whose application has ended early."""
        if self._response_started and not self.finished:
            self.cut()

    def handle_exception(self, exception: BaseException) -> None:
        # daphne would begin a second response, which raises and ends its periodic checks.
        if self._response_started:
            self.cut_unfinished()
        else:
            super().handle_exception(exception)

    def _refuse_body(self) -> None:
        """Answer 413 at once, and discard input for LINGER_SECONDS."""
        self._is_refused = True
        self.content = io.BytesIO()
        refusal = f"Request too large: the limit is {self._limit // 1024} KiB.\n".encode()
        self.channel.transport.write(
            b"HTTP/1.1 413 Content Too Large\r\nContent-Type: text/plain; charset=utf-8\r\n"
            b"Cache-Control: no-store\r\nConnection: close\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(refusal), refusal)
        )
        self.channel.expect(LINGER_SECONDS)


class BoundedFactory(HTTPFactory):  # type: ignore[misc]  # daphne is untyped
    """Makes bounded connections. They are plain HTTP: a proxy on this machine speaks TLS."""

    protocol = BoundedChannel

    def buildProtocol(self, addr: Any) -> Any:  # noqa: N802  twisted's name
        channel = super().buildProtocol(addr)
        channel.requestFactory = BoundedRequest
        return channel

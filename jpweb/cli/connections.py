"""HTTP connections within bounds: how long a request may take to arrive, and how large it may be.

A response in pieces waits for its reader: what the browser does not take is not made.

Twisted would wait for ever for a request that comes byte by byte, and write a large body into a
temporary file before anybody is asked. Here a body stays in memory up to its limit, and is
refused beyond: by its length before it is read, else as it is counted.
"""

from __future__ import annotations

import asyncio
import io
import logging
from typing import Any

from daphne.http_protocol import HTTPFactory, WebRequest
from django.conf import settings
from twisted.web import http

from jpweb.runtime.signals.line import Line

logger = logging.getLogger(__name__)

#: Seconds from the first byte, or from the connection, to the end of a request's head; of its body.
HEAD_SECONDS, BODY_SECONDS = 10.0, 30.0
#: Seconds for which a refused body is still read and dropped, so that the refusal is received.
LINGER_SECONDS = 2.0
#: Seconds for which a response waits for a reader that takes nothing; networks fail for minutes.
STALL_SECONDS = 300.0
#: Bytes of a body from a browser without a sign-in; others may send what Django takes.
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
        """Abort the connection after so many seconds; None: leave it alone."""
        if self._deadline is not None and self._deadline.active():
            self._deadline.cancel()
        self._deadline = None
        if seconds is not None:
            self._deadline = self.callLater(seconds, self.transport.abortConnection)


class BoundedRequest(WebRequest):  # type: ignore[misc]  # daphne is untyped
    """A request whose body stays in memory and within its limit."""

    _limit = 0
    _is_refused = False
    _line: Line | None = None

    def gotLength(self, length: int | None) -> None:  # noqa: N802  twisted's name
        signed_in = settings.SESSION_COOKIE_NAME.encode() in self.received_cookies
        self._limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE if signed_in else MAX_ANONYMOUS_BYTES
        self.content = io.BytesIO()
        if length is not None and length > self._limit:
            self._refuse()

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802  twisted's name
        if self._is_refused:
            return
        if self.content.tell() + len(data) > self._limit:
            self._refuse()
        else:
            self.content.write(data)

    def process(self) -> Any:
        if not self._is_refused:
            return super().process()
        return self.channel.loseConnection()

    def handle_reply(self, message: dict[str, Any]) -> None:
        """Send a part of the response; of one in pieces, note when the browser takes no more."""
        goes_on = message.get("more_body", message["type"] == "http.response.start")
        if message["type"] == "http.response.body" and not self.finished and self.channel:
            if goes_on and self._line is None:
                self._line = Line()
                self.registerProducer(self._line, True)
            elif not goes_on and self._line is not None:
                self.unregisterProducer()
        super().handle_reply(message)

    async def drain(self) -> None:
        """Wait until the browser has taken what was sent; one that never does is cut off."""
        if self._line is None or not self._line.held or self.finished or self.channel is None:
            return
        freed = asyncio.Event()
        self._line.freed = freed.set
        try:
            async with asyncio.timeout(STALL_SECONDS):
                await freed.wait()
        except TimeoutError:
            logger.info("%s: connection closed, the browser stopped reading", self.path.decode())
            self.cut()

    def cut(self) -> None:
        """Cut the connection; a response whose end is missing is no whole one to a browser."""
        if self.channel is not None:
            self.channel.transport.abortConnection()

    def cut_unfinished(self, _: object = None) -> None:
        """Cut the connection of a response that nobody finishes any more."""
        if self._response_started and not self.finished:
            self.cut()

    def handle_exception(self, exception: BaseException) -> None:
        # daphne would begin a second response, which raises and ends its periodic checks.
        if self._response_started:
            self.cut_unfinished()
        else:
            super().handle_exception(exception)

    def _refuse(self) -> None:
        """Answer 413 at once; what still comes is dropped for a while."""
        self._is_refused = True
        self.content = io.BytesIO()
        line = f"Request too large: the limit is {self._limit // 1024} KiB.\n".encode()
        self.channel.transport.write(
            b"HTTP/1.1 413 Content Too Large\r\nContent-Type: text/plain; charset=utf-8\r\n"
            b"Cache-Control: no-store\r\nConnection: close\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(line), line)
        )
        self.channel.expect(LINGER_SECONDS)


class BoundedFactory(HTTPFactory):  # type: ignore[misc]  # daphne is untyped
    """Makes bounded connections. They are plain HTTP: a proxy on this machine speaks TLS."""

    protocol = BoundedChannel

    def buildProtocol(self, addr: Any) -> Any:  # noqa: N802  twisted's name
        channel = super().buildProtocol(addr)
        channel.requestFactory = BoundedRequest
        return channel

"""WebSocket connections with limits: size of a message, rate of frames and bytes.

Received messages wait in memory until the page's consumer takes them, so the rate is limited
before that; pings, pongs and fragments count as well.
"""

from __future__ import annotations

from typing import Any

from autobahn.websocket.types import ConnectionDeny
from daphne.ws_protocol import WebSocketFactory, WebSocketProtocol

from jpweb.runtime.broadcast import close_codes
from jpweb.token_bucket import TokenBucket

#: Bytes of one message: an answer of 100,000 characters, however JSON escapes them.
MAX_MESSAGE_BYTES = 640 * 1024
#: Capacity and refill rate of each socket's token buckets, for frames and for bytes.
FRAMES_AT_ONCE, FRAMES_PER_SECOND = 200, 20.0
BYTES_AT_ONCE, BYTES_PER_SECOND = 2 * MAX_MESSAGE_BYTES, 64 * 1024.0


class BoundedSocket(WebSocketProtocol):  # type: ignore[misc]  # daphne is untyped
    """A WebSocket that is closed where it exceeds its limits."""

    failedByMe: bool  # noqa: N815  autobahn's name

    def __init__(self) -> None:
        super().__init__()
        self._frames = TokenBucket(FRAMES_AT_ONCE, FRAMES_PER_SECOND)
        self._bytes = TokenBucket(BYTES_AT_ONCE, BYTES_PER_SECOND)

    def onConnect(self, request: Any) -> Any:  # noqa: N802  autobahn's name
        # daphne decodes them as ASCII, and logs a traceback where that fails.
        if not request.headers.get("sec-websocket-protocol", "").isascii():
            raise ConnectionDeny(ConnectionDeny.BAD_REQUEST, "Invalid subprotocols")
        if self.factory.server_class.is_stopping:  # on a connection that is still open
            raise ConnectionDeny(ConnectionDeny.SERVICE_UNAVAILABLE, "Stopping")
        return super().onConnect(request)

    def onMessageFrameBegin(self, length: int) -> None:  # noqa: N802  autobahn's name
        if self.message_data_total_length + length > MAX_MESSAGE_BYTES:
            self.refuse_input(close_codes.MALFORMED_MESSAGE)
        elif not (self._frames.take_tokens() and self._bytes.take_tokens(length)):
            self.refuse_input(close_codes.RATE_LIMITED)
        super().onMessageFrameBegin(length)

    def onPing(self, payload: bytes) -> None:  # noqa: N802  autobahn's name
        if self._frames.take_tokens():
            super().onPing(payload)
        else:
            self.refuse_input(close_codes.RATE_LIMITED)

    def onPong(self, payload: bytes) -> None:  # noqa: N802  autobahn's name
        if not self._frames.take_tokens():
            self.refuse_input(close_codes.RATE_LIMITED)

    def refuse_input(self, code: int) -> None:
        """Send the close code, ignore further input, and let the connection end a second later."""
        if self.failedByMe:
            return
        self.failedByMe = True  # autobahn discards further input
        self.sendCloseFrame(code=code)
        self.transport.pauseProducing()


class BoundedSocketFactory(WebSocketFactory):  # type: ignore[misc]  # daphne is untyped
    """Makes bounded sockets."""

    protocol: Any = BoundedSocket

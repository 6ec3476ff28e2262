"""WebSocket connections within bounds: how large a message may be, how many frames may come.

What a browser sends waits in memory until the page's consumer takes it, so the rate is bounded
before that, in frames and in bytes; pings, pongs and parts of messages count as well.
"""

from __future__ import annotations

from typing import Any

from daphne.ws_protocol import WebSocketFactory, WebSocketProtocol

from jpweb.runtime.signals import codes
from jpweb.runtime.signals.allowance import TokenBucket

#: Bytes of one message: an answer of 100,000 characters, however they are written in JSON.
MAX_MESSAGE_BYTES = 640 * 1024
#: Frames and bytes that one socket may send at once, and a second after that.
FRAMES_AT_ONCE, FRAMES_PER_SECOND = 200, 20.0
BYTES_AT_ONCE, BYTES_PER_SECOND = 2 * MAX_MESSAGE_BYTES, 64 * 1024.0


class BoundedSocket(WebSocketProtocol):  # type: ignore[misc]  # daphne is untyped
    """A socket that is closed where it sends too much."""

    failedByMe: bool  # noqa: N815  autobahn's name

    def __init__(self) -> None:
        super().__init__()
        self._frames = TokenBucket(FRAMES_AT_ONCE, FRAMES_PER_SECOND)
        self._bytes = TokenBucket(BYTES_AT_ONCE, BYTES_PER_SECOND)

    def onMessageFrameBegin(self, length: int) -> None:  # noqa: N802  autobahn's name
        if self.message_data_total_length + length > MAX_MESSAGE_BYTES:
            self.refuse(codes.MALFORMED)
        elif not (self._frames.take() and self._bytes.take(length)):
            self.refuse(codes.TOO_MUCH)
        super().onMessageFrameBegin(length)

    def onPing(self, payload: bytes) -> None:  # noqa: N802  autobahn's name
        if self._frames.take():
            super().onPing(payload)
        else:
            self.refuse(codes.TOO_MUCH)

    def onPong(self, payload: bytes) -> None:  # noqa: N802  autobahn's name
        if not self._frames.take():
            self.refuse(codes.TOO_MUCH)

    def refuse(self, code: int) -> None:
        """Say why, take nothing more, and let the connection end a second later."""
        if self.failedByMe:
            return
        self.failedByMe = True  # autobahn drops what still comes
        self.sendCloseFrame(code=code)
        self.transport.pauseProducing()


class BoundedSocketFactory(WebSocketFactory):  # type: ignore[misc]  # daphne is untyped
    """Makes bounded sockets."""

    protocol: Any = BoundedSocket

"""Backpressure of one WebSocket, as a Twisted push producer.

Channels has none: daphne keeps in memory what a stalled browser does not receive.
"""

from __future__ import annotations

from collections.abc import Callable

#: Key of a socket's FlowControl in its ASGI scope.
FLOW_CONTROL_KEY = "jpweb.line"
#: Key of the function that aborts a request's connection, in its ASGI scope.
CUT_CONNECTION_KEY = "jpweb.cut"


def _do_nothing() -> None:
    """Ignore that the buffer is empty."""


class FlowControl:
    """Flow control: paused while the send buffer of one browser is full.

    A push producer with Twisted's method names. ``on_resumed`` is called whenever the browser has
    received the whole buffer.
    """

    __slots__ = ("is_paused", "on_resumed")

    def __init__(self) -> None:
        self.is_paused = False
        self.on_resumed: Callable[[], None] = _do_nothing

    def pauseProducing(self) -> None:  # noqa: N802  Twisted's name
        """Pause sending."""
        self.is_paused = True

    def resumeProducing(self) -> None:  # noqa: N802  Twisted's name
        """Resume sending."""
        self.is_paused = False
        self.on_resumed()

    def stopProducing(self) -> None:  # noqa: N802  Twisted's name
        """Stop sending: the browser has disconnected."""
        self.is_paused = True
        self.on_resumed = _do_nothing

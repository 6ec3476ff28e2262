"""Whether the browser at the other end of a socket takes what is sent to it."""

from __future__ import annotations

from collections.abc import Callable

#: Where a server puts the line of a socket, in its scope.
SCOPE = "jpweb.line"
#: Where a server puts the function that cuts the connection of a request, in its scope.
CUT = "jpweb.cut"


def _nobody() -> None:
    """Wait for nothing."""


class Line:
    """Held while more waits to be sent than the server should keep for one browser.

    It is a push producer of Twisted, whose names it has. ``freed`` is called whenever the browser
    has taken everything.
    """

    __slots__ = ("freed", "held")

    def __init__(self) -> None:
        self.held = False
        self.freed: Callable[[], None] = _nobody

    def pauseProducing(self) -> None:  # noqa: N802  Twisted's name
        """Hold what is to be sent."""
        self.held = True

    def resumeProducing(self) -> None:  # noqa: N802  Twisted's name
        """Let the rest be sent."""
        self.held = False
        self.freed()

    def stopProducing(self) -> None:  # noqa: N802  Twisted's name
        """Send nothing any more: the browser is gone."""
        self.held = True
        self.freed = _nobody

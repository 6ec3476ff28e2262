from __future__ import annotations

from typing import Any

import pytest
from autobahn.exception import Disconnected

from jpweb.cli.server import QuietServer


class Protocol:
    """A connection whose sending ends in an error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def handle_reply(self, _message: dict[str, Any]) -> None:
        raise self.error


async def replied(error: Exception) -> None:
    protocol = Protocol(error)
    server = QuietServer(application=None, endpoints=["tcp:port=0"])
    server.connections = {protocol: {}}
    await server.handle_reply(protocol, {"type": "websocket.send", "text": "news"})


async def test_news_for_a_browser_that_has_just_left_are_dropped():
    await replied(Disconnected("gone"))


async def test_any_other_failure_to_send_is_told():
    with pytest.raises(OSError, match="broken"):
        await replied(OSError("broken"))

"""The slot of a call to an MCP server of which only one may run."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from jpweb.agent.tools.mcp.client import McpSession
from jpweb.agent.tools.mcp.elicitation import Elicitation


async def _ask(*_: Any) -> Any:
    raise AssertionError("nothing is asked")


async def test_call_that_waited_for_its_slot_connects_a_lost_session_again():
    client: Any = SimpleNamespace(protocol_version=max(HANDSHAKE_PROTOCOL_VERSIONS))
    connection_count = 0

    async def reconnect() -> None:
        nonlocal connection_count
        connection_count += 1
        session._client = client

    async def call_next() -> bool:
        async with session.hold_call_slot(Elicitation(_ask, lambda _: None)):
            return session.is_connected

    session = McpSession(reconnect)
    session._client = client
    async with session.hold_call_slot(Elicitation(_ask, lambda _: None)):
        waiting_call = asyncio.create_task(call_next())
        await asyncio.sleep(0)
        session._client = None
    assert await waiting_call
    assert connection_count == 1

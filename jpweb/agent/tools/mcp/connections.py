"""Runs the MCP servers of a turn, and keeps the reasons why others could not start."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from jpweb.agent.config import McpServer, McpSource, ToolConfig
from jpweb.agent.errors import ToolUnavailable
from jpweb.agent.tools.mcp.overlay import (
    MAX_LISTED_CHARACTERS,
    ListedTool,
    measure_tool,
    overlay_tool,
)
from jpweb.agent.tools.mcp.server_connection import ConnectedServer, ServerConnection
from jpweb.agent.tools.mcp.tool import CallLimits, McpTool


class McpConnections:
    """The connected servers. ``unavailable`` holds the reasons of the others."""

    def __init__(
        self,
        servers: Mapping[str, ConnectedServer],
        problems_by_server: Mapping[str, str],
        limits: CallLimits,
    ) -> None:
        self._servers = servers
        self.unavailable = problems_by_server
        self._limits = limits
        self._remaining_characters = MAX_LISTED_CHARACTERS

    def make_tool_config(self, declared_tool: ToolConfig) -> ToolConfig:
        """Return the server's tool with the workspace's overrides. Raises ToolUnavailable.

        ``parameters`` of ``declared_tool`` are the workspace's overrides, as a schema.
        """
        _, listed_tool = self._find_tool(declared_tool)
        size = measure_tool(listed_tool, declared_tool)
        if size > self._remaining_characters:
            raise ToolUnavailable(
                "with it, the descriptions of MCP tools would have more than "
                f"{MAX_LISTED_CHARACTERS:,} characters"
            )
        self._remaining_characters -= size
        return overlay_tool(listed_tool, declared_tool)

    def make_tool(self, declared_tool: ToolConfig) -> McpTool:
        """Return the tool that makes the calls. Raises ToolUnavailable."""
        server, listed_tool = self._find_tool(declared_tool)
        name = _get_mcp_source(declared_tool).server
        return McpTool(server.session, name, listed_tool.name, self._limits, server.hidden)

    def _find_tool(self, declared_tool: ToolConfig) -> tuple[ConnectedServer, ListedTool]:
        source = _get_mcp_source(declared_tool)
        if source.server in self.unavailable:
            raise ToolUnavailable(
                f"the MCP server {source.server} is not available: "
                f"{self.unavailable[source.server]}"
            )
        if source.server not in self._servers:
            raise ToolUnavailable(f"no MCP server {source.server} is configured")
        server = self._servers[source.server]
        if source.tool not in server.tools:
            raise ToolUnavailable(f"the MCP server {source.server} has no tool {source.tool}")
        return server, server.tools[source.tool]


@asynccontextmanager
async def connect_servers(
    servers: Iterable[McpServer],
    folder: Path,
    *,
    limits: CallLimits | None = None,
) -> AsyncIterator[McpConnections]:
    """Start and connect the servers, all at once, for the block; ``folder`` is where they run.

    Each lives in a task of its own, which enters and leaves the SDK's contexts; calls may be made
    from any task.
    """
    leave_event = asyncio.Event()
    connections = [ServerConnection(server, folder, leave_event) for server in servers]
    try:
        await asyncio.gather(*(connection.wait_started() for connection in connections))
        yield McpConnections(
            {
                connection.name: connection.server
                for connection in connections
                if connection.server is not None
            },
            {
                connection.name: connection.problem
                for connection in connections
                if connection.server is None
            },
            limits or CallLimits(),
        )
    finally:
        leave_event.set()
        for connection in connections:
            connection.cancel_start()
        await asyncio.gather(*(connection.wait_ended() for connection in connections))


def _get_mcp_source(declared_tool: ToolConfig) -> McpSource:
    if not isinstance(declared_tool.source, McpSource):
        raise ToolUnavailable(f"{declared_tool.name} is not a tool of an MCP server")
    return declared_tool.source

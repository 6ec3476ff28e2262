"""The MCP servers of a turn: started, or said why not, and ended with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from jpweb.agent.config import Mcp, McpServer, ToolConfig
from jpweb.agent.errors import ToolUnavailable
from jpweb.agent.tools.mcp.keeper import Keeper, Server
from jpweb.agent.tools.mcp.overlay import Listed, laid_over
from jpweb.agent.tools.mcp.tool import McpTool, Patience

#: How long a server may take to start, to answer and to list its tools.
START_SECONDS = 30.0


class Connections:
    """What the servers offer. ``unavailable`` says of the others why they are not there."""

    def __init__(
        self, servers: Mapping[str, Server], unavailable: Mapping[str, str], patience: Patience
    ) -> None:
        self._servers = servers
        self.unavailable = unavailable
        self._patience = patience

    def tool_config(self, declared: ToolConfig) -> ToolConfig:
        """Return the tool as the server says and the workspace overrides. Raises ToolUnavailable.

        ``parameters`` of ``declared`` are what the workspace says of them, as a schema.
        """
        _, listed = self._find(declared)
        return laid_over(listed, declared)

    def tool(self, declared: ToolConfig) -> McpTool:
        """Return what makes the calls. Raises ToolUnavailable."""
        server, listed = self._find(declared)
        name = _source(declared).server
        return McpTool(server.session, name, listed.name, self._patience, server.hidden)

    def _find(self, declared: ToolConfig) -> tuple[Server, Listed]:
        source = _source(declared)
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
async def connected(
    servers: Iterable[McpServer],
    folder: Path,
    *,
    start_seconds: float = START_SECONDS,
    patience: Patience | None = None,
) -> AsyncIterator[Connections]:
    """Start and connect the servers, all at once, for the block; ``folder`` is where they run.

    Each lives in a task of its own, which enters and leaves what the SDK opens; calls may be made
    from any task.
    """
    leave = asyncio.Event()
    keepers = [Keeper(server, folder, leave) for server in servers]
    try:
        await asyncio.gather(*(keeper.started(start_seconds) for keeper in keepers))
        yield Connections(
            {keeper.name: keeper.server for keeper in keepers if keeper.server is not None},
            {keeper.name: keeper.problem for keeper in keepers if keeper.server is None},
            patience or Patience(),
        )
    finally:
        leave.set()
        for keeper in keepers:
            keeper.give_up()
        for keeper in keepers:
            await keeper.gone()


def _source(declared: ToolConfig) -> Mcp:
    if not isinstance(declared.source, Mcp):
        raise ToolUnavailable(f"{declared.name} is not a tool of an MCP server")
    return declared.source

"""An MCP server to be called: ``python server.py stdio`` or ``python server.py http PORT``."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp.server.request_state import (
    AESGCMRequestStateCodec,
    InvalidRequestState,
    RequestStateSecurity,
)
from mcp_types import EmbeddedResource, ImageContent, TextContent, TextResourceContents
from pydantic import BaseModel, Field


class Forgetful(AESGCMRequestStateCodec):
    """Refuses the first states that come back, as a server does once they have expired."""

    def __init__(self, times: int) -> None:
        super().__init__([os.urandom(32)])
        self.times = times

    def unseal(self, token: str) -> bytes:
        if self.times:
            self.times -= 1
            raise InvalidRequestState("expired")
        return super().unseal(token)


_FORGETS = int(os.environ.get("PROBE_FORGETS", "0"))
server = MCPServer("probe", request_state_security=RequestStateSecurity(codec=Forgetful(_FORGETS)))
PNG = "iVBORw0KGgo="


class Sure(BaseModel):
    ok: bool = Field(description="Really?")


async def confirm(what: str) -> Elicit[Sure]:
    return Elicit(f"Remove {what}?", Sure)


@server.tool()
async def add(a: int, b: int = 2) -> str:
    """Adds."""
    return str(a + b)


@server.tool()
async def parts() -> list[Any]:
    """Returns parts of each kind."""
    resource = TextResourceContents(uri="file:///a", text="from a file")
    return [
        TextContent(type="text", text="one"),
        ImageContent(type="image", data=PNG, mime_type="image/png"),
        EmbeddedResource(type="resource", resource=resource),
        TextContent(type="text", text="two"),
    ]


@server.tool()
async def fail(why: str) -> str:
    """Fails."""
    raise ToolError(why)


@server.tool()
async def much(size: int) -> str:
    """Says much."""
    return "x" * size


@server.tool()
async def settings(name: str) -> str:
    """Says what the environment has."""
    return os.environ.get(name, "unset")


@server.tool()
async def remove(what: str, sure: Annotated[Sure, Resolve(confirm)]) -> str:
    """Asks first."""
    return f"{what}: {sure.ok}"


@server.tool()
async def wait(folder: str) -> str:
    """Waits to be cancelled, and says so."""
    note(folder, "waiting")
    try:
        await asyncio.Event().wait()
    finally:
        note(folder, "cancelled")
    return "never"


@server.tool()
async def end() -> str:
    """Ends the server."""
    os._exit(3)


def note(folder: str, what: str) -> None:
    Path(folder, what).touch()


def main() -> None:
    match sys.argv[1:]:
        case ["stdio"]:
            server.run("stdio")
        case ["http", port]:
            server.run("streamable-http", host="127.0.0.1", port=int(port))
        case ["silent"]:
            sys.stdin.read()
        case _:
            sys.exit("it is broken")


if __name__ == "__main__":
    main()

"""An MCP server with one tool, which asks back before it books."""

from __future__ import annotations

from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel, Field

server = MCPServer("kitchen")


class Booking(BaseModel):
    window: bool = Field(description="A table at the window?")


async def asked(guests: int) -> Elicit[Booking]:
    return Elicit(f"There is one table left for {guests}.", Booking)


@server.tool()
async def book_table(guests: int, booking: Annotated[Booking, Resolve(asked)]) -> str:
    """Book a table. Nothing is booked: the kitchen is made up."""
    return f"A table for {guests}, {'at the window' if booking.window else 'in the corner'}."


if __name__ == "__main__":
    server.run("stdio")

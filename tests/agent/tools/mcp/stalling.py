"""An MCP server over HTTP that begins a session, answers calls as events, or stops answering."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tests.machine.ports import LOOPBACK

_LENGTH = re.compile(r"^content-length: *(\d+)", re.IGNORECASE | re.MULTILINE)
_RESULTS: dict[str, dict[str, Any]] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "stalling", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]},
}


@dataclass
class StallingServer:
    """Leaves the requests of the ``stalled`` methods without an answer, their connections open.

    It hangs up on the next request of each method of ``dropped``. ``has_restarted``: it no longer
    knows the session. ``headers`` are added to its replies. ``has_endless_head``: it never comes to
    the reply to a call.
    """

    stalled: set[str]
    url: str = ""
    dropped: set[str] = field(default_factory=set)
    has_restarted: bool = False
    headers: str = ""
    has_endless_head: bool = False
    methods: list[str] = field(default_factory=list)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            await self._answer_request(reader, writer)
        finally:
            await _hang_up(writer)
            self._writers.discard(writer)

    async def end_connections(self) -> None:
        """Hang up on the clients that still wait: sockets may not outlive the event loop."""
        for writer in list(self._writers):
            await _hang_up(writer)

    async def _answer_request(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = _LENGTH.search(head)
        body = await reader.readexactly(int(length[1]) if length else 0)
        message = json.loads(body) if body else {"method": head.split()[0]}
        self.methods.append(message["method"])
        if message["method"] in self.stalled:
            await reader.read()  # until the client hangs up
        elif message["method"] in self.dropped:
            self.dropped.remove(message["method"])
        elif self.has_endless_head and message["method"] == "tools/call":
            with suppress(ConnectionError):
                while True:
                    writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000)
                    await writer.drain()
        elif self.has_restarted and message["method"] != "initialize":
            writer.write(_format_response("404 Not Found"))
        else:
            self.has_restarted = False
            end = b"\r\n\r\n"
            writer.write(_make_response(message).replace(end, self.headers.encode() + end, 1))


@asynccontextmanager
async def serve_stalling(*stalled: str) -> AsyncIterator[StallingServer]:
    """Serve on loopback; ``stalled`` names methods of HTTP and of MCP."""
    stalling = StallingServer(set(stalled))
    async with await asyncio.start_server(stalling.handle, LOOPBACK, 0) as server:
        stalling.url = f"http://{LOOPBACK}:{server.sockets[0].getsockname()[1]}/mcp"
        try:
            yield stalling
        finally:
            await stalling.end_connections()


async def _hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


def _make_response(message: dict[str, Any]) -> bytes:
    if message["method"] == "GET":
        return _format_response("405 Method Not Allowed")
    if "id" not in message:
        return _format_response("202 Accepted")
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] in _RESULTS:
        reply["result"] = _RESULTS[message["method"]]
    elif error := message.get("params", {}).get("arguments", {}).get("error"):
        reply["error"] = error
    elif size := message.get("params", {}).get("arguments", {}).get("size"):
        values = [0] * message["params"]["arguments"].get("values", 0)
        content = [{"type": "text", "text": "x" * size}]
        reply["result"] = {"content": content, "structuredContent": {"a": values}}
        if message["params"]["arguments"].get("as_json"):
            return _format_response("200 OK", json.dumps(reply))
        return _format_response("200 OK", f"data: {json.dumps(reply)}\n\n", "text/event-stream")
    else:
        reply["error"] = {"code": -32601, "message": "no such method"}
    return _format_response("200 OK", json.dumps(reply))


def _format_response(status: str, body: str = "", kind: str = "application/json") -> bytes:
    lines = (
        f"HTTP/1.1 {status}",
        f"Content-Type: {kind}",
        "Mcp-Session-Id: s1",
        "Connection: close",
        f"Content-Length: {len(body)}",
        "",
        body,
    )
    return "\r\n".join(lines).encode()

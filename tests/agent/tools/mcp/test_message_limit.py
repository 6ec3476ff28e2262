from __future__ import annotations

import asyncio
import time

import pytest

from jpweb.agent.config import McpServer
from jpweb.agent.tool_outcome import Failed, Success
from jpweb.agent.tools.mcp import command_transport, connect_servers, message_limit
from jpweb.agent.tools.mcp.message_limit import MessageTooLong
from tests.agent.tools.mcp.serving import call_tool, make_stdio_server
from tests.agent.tools.mcp.stalling import serve_stalling

LIMIT = 300_000
PROBLEM = "it sent a message of more than 300,000 bytes"
REFUSED = Failed(f"The call to the MCP server probe failed: {PROBLEM}")


@pytest.fixture(autouse=True)
def _lower_limit(monkeypatch):
    monkeypatch.setattr(message_limit, "MAX_MESSAGE_BYTES", LIMIT)


@pytest.mark.parametrize("call", [("much", {"size": LIMIT + 1}), ("flood", {})])
async def test_command_that_sends_too_long_a_line_is_ended_and_named(tmp_path, call):
    async with connect_servers([make_stdio_server()], tmp_path) as connections, asyncio.timeout(60):
        outcome = await call_tool(connections, "much", {"size": LIMIT - 1000})
        assert isinstance(outcome, Success)
        assert await call_tool(connections, *call) == REFUSED
        assert await call_tool(connections, "add", {"a": 1}) == REFUSED


async def test_command_that_floods_at_its_start_is_unavailable(tmp_path):
    server = make_stdio_server("flood", name="bad")
    async with asyncio.timeout(60), connect_servers([server], tmp_path) as connections:
        assert connections.unavailable == {"bad": PROBLEM}


@pytest.mark.parametrize("as_json", [True, False], ids=["as JSON", "as an event"])
async def test_address_that_sends_too_long_a_reply_fails_only_that_call(tmp_path, as_json):
    async with serve_stalling() as server:
        config = McpServer("probe", url=server.url)
        async with connect_servers([config], tmp_path) as connections:
            arguments = {"size": LIMIT + 1, "as_json": as_json}
            assert await call_tool(connections, "add", arguments) == REFUSED
            outcome = await call_tool(connections, "add", arguments | {"size": LIMIT - 1000})
            assert isinstance(outcome, Success)


@pytest.mark.parametrize(
    ("limit", "problem"),
    [
        ({}, "it lists its tools on more than 100 pages"),
        ({"MAX_TOOLS": 3}, "it lists more than 3 tools"),
        ({"MAX_MESSAGE_BYTES": 9000}, "it sent a message of more than 9,000 bytes"),
    ],
    ids=["pages", "tools", "bytes"],
)
async def test_list_of_tools_without_end_makes_its_server_unavailable(
    tmp_path, monkeypatch, limit, problem
):
    for name, value in limit.items():
        monkeypatch.setattr(message_limit, name, value)
    server = make_stdio_server("pages", name="bad")
    async with asyncio.timeout(60), connect_servers([server], tmp_path) as connections:
        assert connections.unavailable == {"bad": problem}


async def test_address_that_sends_compressed_replies_is_unavailable(tmp_path):
    async with serve_stalling() as server:
        server.headers = "\r\nContent-Encoding: gzip"
        config = McpServer("bad", url=server.url)
        async with connect_servers([config], tmp_path) as connections:
            assert connections.unavailable == {
                "bad": "its reply is compressed, although the request excludes that"
            }


async def test_lines_are_read_in_time_in_proportion_to_their_length(monkeypatch):
    monkeypatch.setattr(message_limit, "MAX_MESSAGE_BYTES", 64 * 2**20)
    assert await measure_reading(16 * 2**20) < 10 * await measure_reading(4 * 2**20)


async def measure_reading(size: int) -> float:
    """Return the least of three processor times of reading one line of so many bytes."""
    seconds = []
    for _ in range(3):
        reader = asyncio.StreamReader()
        reader.feed_data(b"x" * size + b"\ny\n")
        reader.feed_eof()
        start = time.thread_time()
        lengths = [len(line) async for line in command_transport._read_lines(reader)]
        seconds.append(time.thread_time() - start)
        assert lengths == [size, 1]
    return min(seconds)


async def test_line_of_the_limit_is_read_and_a_longer_one_is_refused():
    for size in (LIMIT, LIMIT + 1):
        reader = asyncio.StreamReader()
        reader.feed_data(b"a\n" + b"x" * size)
        reader.feed_eof()
        lines = command_transport._read_lines(reader)
        assert await anext(lines) == b"a"
        with pytest.raises(StopAsyncIteration if size == LIMIT else MessageTooLong):
            await anext(lines)

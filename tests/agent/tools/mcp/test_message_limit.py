from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import nullcontext

import pytest
from httpx2 import AsyncByteStream, ByteStream, Request, SSEError
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

from jpweb.agent.config import McpServer
from jpweb.agent.errors import ToolUnavailable
from jpweb.agent.tool_outcome import Failed, Success
from jpweb.agent.tools.mcp import (
    client,
    command_transport,
    connect_servers,
    message_limit,
    message_parser,
)
from jpweb.agent.tools.mcp import connections as connections_module
from jpweb.agent.tools.mcp.message_limit import (
    MessagePace,
    MessageTooLong,
    ValueCounter,
    refuse_reply,
)
from jpweb.agent.tools.mcp.message_parser import MessageParser
from tests.agent.tools.local.commands import wait_until
from tests.agent.tools.mcp.serving import call_tool, make_stdio_server, make_tool_config
from tests.agent.tools.mcp.stalling import serve_stalling

LIMIT = 300_000
PROBLEM = "it sent a message of more than 300,000 bytes"
TOO_MANY_VALUES = Failed(
    "The call to the MCP server probe failed: it sent a message of more than 1,000 values"
)
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


async def test_tools_whose_texts_exceed_the_limit_are_unavailable(tmp_path, monkeypatch):
    monkeypatch.setenv("PROBE_WORDS", "100")  # each tool has 600 characters, and its schema
    monkeypatch.setattr(connections_module, "MAX_LISTED_CHARACTERS", 2_000)
    server = make_stdio_server(variables=("PROBE_WORDS",))
    pattern = "with it, the descriptions of MCP tools would have more than 2,000 characters"
    async with connect_servers([server], tmp_path) as connections:
        with pytest.raises(ToolUnavailable, match=pattern):
            connections.make_tool_config(make_tool_config("end", description="{{description}}" * 4))
        for tool in ("end", "wait", "parts"):
            assert connections.make_tool_config(make_tool_config(tool)).summary == "Does."
        with pytest.raises(ToolUnavailable, match=pattern):
            connections.make_tool_config(make_tool_config("fail"))


@pytest.mark.parametrize("as_json", [True, False], ids=["as JSON", "as an event"])
async def test_address_that_sends_too_long_a_reply_fails_only_that_call(tmp_path, as_json):
    async with serve_stalling() as server:
        config = McpServer("probe", url=server.url)
        async with connect_servers([config], tmp_path) as connections:
            arguments = {"size": LIMIT + 1, "as_json": as_json}
            assert await call_tool(connections, "add", arguments) == REFUSED
            outcome = await call_tool(connections, "add", arguments | {"size": LIMIT - 1000})
            assert isinstance(outcome, Success)


@pytest.mark.parametrize("as_json", [True, False], ids=["as JSON", "as an event"])
async def test_address_that_sends_too_many_values_fails_only_that_call(
    tmp_path, monkeypatch, as_json
):
    monkeypatch.setattr(message_limit, "MAX_MESSAGE_VALUES", 1_000)
    async with serve_stalling() as server:
        config = McpServer("probe", url=server.url)
        async with connect_servers([config], tmp_path) as connections:
            arguments = {"size": 1, "values": 1_001, "as_json": as_json}
            assert await call_tool(connections, "add", arguments) == TOO_MANY_VALUES
            outcome = await call_tool(connections, "add", arguments | {"values": 900})
            assert isinstance(outcome, Success)


async def test_command_that_sends_too_many_values_is_ended_and_named(tmp_path, monkeypatch):
    monkeypatch.setattr(message_limit, "MAX_MESSAGE_VALUES", 1_000)
    async with connect_servers([make_stdio_server()], tmp_path) as connections, asyncio.timeout(60):
        for count, outcome in ((900, Success("repeat")), (1_001, TOO_MANY_VALUES)):
            log = {"method": "notifications/message", "params": {"data": [0] * count}}
            arguments = {"message": log, "count": 1}
            assert await call_tool(connections, "repeat", arguments) == outcome


@pytest.mark.parametrize("burst", ["MESSAGE_BURST", "BYTE_BURST", "VALUE_BURST"])
async def test_command_that_sends_too_fast_is_held_back(tmp_path, monkeypatch, burst):
    line_count = 0

    class CountingParser(MessageParser):
        def parse_line(self, line: bytes) -> SessionMessage | None:
            nonlocal line_count
            line_count += 1
            return super().parse_line(line)

    monkeypatch.setattr(command_transport, "MessageParser", CountingParser)
    for rate in ("MESSAGES_PER_SECOND", "BYTES_PER_SECOND", "VALUES_PER_SECOND"):
        monkeypatch.setattr(message_limit, rate, 0.001)
    monkeypatch.setattr(
        message_limit, burst, {"BYTE_BURST": 20_000, "VALUE_BURST": 500}.get(burst, 100)
    )
    log = {"method": "notifications/message", "params": {"data": [0] * 10 + ["x" * 1_000]}}
    async with connect_servers([make_stdio_server()], tmp_path) as connections, asyncio.timeout(60):
        call = asyncio.create_task(call_tool(connections, "repeat", {"message": log, "count": 500}))
        await wait_until(lambda: line_count > 5)
        call.cancel()
    assert line_count < 110


class RecordingPace(MessagePace):
    """Counts, and holds nothing back."""

    def __init__(self) -> None:
        self.counts: list[tuple[int, int, int]] = []

    def count_received(self, messages: int, size: int, values: int = 0) -> float:
        self.counts.append((messages, size, values))
        return 0.0


async def test_chunks_of_a_reply_count_as_messages():
    pace = RecordingPace()
    stream = message_limit._LimitedStream(ChunkStream([b"[1", b",", b"2]"]), pace)
    assert b"".join([chunk async for chunk in stream]) == b"[1,2]"
    assert pace.counts == [(1, 0, 1), (1, 0, 1), (1, 0, 0)]


def test_events_are_counted_by_lines_and_values():
    counts = message_limit._EventStream(ByteStream(b""), MessagePace())._count
    assert counts(b'data: [1, "a,b') == (1, 2)
    assert counts(b'",3]\r') == (1, 1)
    assert counts(b"\n\r\n\n: [\r\r") == (5, 1)


async def test_event_with_too_many_values_is_refused_and_many_small_ones_are_not(monkeypatch):
    monkeypatch.setattr(message_limit, "MAX_MESSAGE_VALUES", 10)
    for chunks, is_refused in (
        ([b"data: [1,2,3]\r\n\r\n"] * 10, False),
        ([b"data: [1,2,3]\r", b"\n"] * 10, True),
        ([b"data: [1,2,3]\n"] * 10, True),
    ):
        stream = message_limit._EventStream(ChunkStream(chunks), MessagePace())
        with pytest.raises(SSEError) if is_refused else nullcontext():
            assert [chunk async for chunk in stream] == chunks


class ChunkStream(AsyncByteStream):
    def __init__(self, chunks: list[bytes]) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (b'{"a": [1, 2], "b": "[,{"}', 4),
        (b'["\\\\", 1, "\\\\\\",", "\\\\\\\\,"]', 4),
        (b'["a\\"b,c", {}]', 3),
        (b"", 0),
    ],
)
def test_values_are_counted_outside_of_strings_wherever_the_text_is_cut(text, count):
    for middle in range(len(text) + 1):
        counter = ValueCounter()
        for piece in (text[:middle], text[middle:]):
            counter.feed(piece)
        assert counter.take_count() == count
        assert counter.take_count() == 0


def test_parser_makes_objects_only_of_messages_with_a_use():
    parser = MessageParser()
    parser.note_sent(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=5, method="tools/call")))
    log, reply = b'"method": "notifications/message", "params": {}', b'"id": 5, "result": {}'
    for unused in (b"x", b"[]", b'"id": [1]', log, b'"id": 6, "result": {}', b'"id": null'):
        line = unused if unused[:1] in b"x[" else b'{"jsonrpc": "2.0", %b}' % unused
        assert parser.parse_line(line) is None
    messages = [parser.parse_line(b'{"jsonrpc": "2.0", %b}' % reply) for _ in range(2)]
    assert [message and message.message for message in messages] == [
        JSONRPCResponse(jsonrpc="2.0", id=5, result={}),
        None,
    ]


def test_parser_leaves_out_the_parameters_of_a_large_request(monkeypatch):
    monkeypatch.setattr(message_parser, "_MAX_REQUEST_BYTES", 100)
    texts = (b"x", b"x" * 100)
    messages = [
        MessageParser().parse_line(
            b'{"jsonrpc": "2.0", "id": "a", "method": "ping", "params": {"a": "%b"}}' % text
        )
        for text in texts
    ]
    assert [message and message.message for message in messages] == [
        JSONRPCRequest(jsonrpc="2.0", id="a", method="ping", params={"a": "x"}),
        JSONRPCRequest(jsonrpc="2.0", id="a", method="ping"),
    ]


def test_parser_replaces_a_result_with_too_many_parts(monkeypatch):
    monkeypatch.setattr(message_parser, "_MAX_PARTS", 2)
    parser = MessageParser()
    for count in (2, 3):
        parser.note_sent(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=5, method="tools/call")))
        parts = b",".join([b"{}"] * count)
        message = parser.parse_line(
            b'{"jsonrpc": "2.0", "id": 5, "result": {"content": [%b]}}' % parts
        )
        assert message is not None
        assert isinstance(message.message, JSONRPCError) == (count == 3)


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


async def test_interim_responses_without_end_fail_only_their_call(tmp_path):
    async with serve_stalling() as server, asyncio.timeout(60):
        config = McpServer("probe", url=server.url)
        async with connect_servers([config], tmp_path) as connections:
            server.has_endless_head = True
            assert await call_tool(connections, "add", {"size": 1}) == Failed(
                "The call to the MCP server probe failed: it sent more than 65,536 bytes before "
                "its reply"
            )
            server.has_endless_head = False
            assert await call_tool(connections, "add", {"size": 1}) == Success("x")


async def test_heads_of_replies_count_as_bytes(tmp_path, monkeypatch):
    pace = RecordingPace()
    monkeypatch.setattr(client, "MessagePace", lambda: pace)
    async with serve_stalling() as server:
        server.headers = f"\r\nX-Long: {'x' * 20_000}"
        config = McpServer("probe", url=server.url)
        async with connect_servers([config], tmp_path) as connections:
            earlier_size = sum(size for _, size, _ in pace.counts)
            assert await call_tool(connections, "add", {"size": 1}) == Success("x")
    assert sum(size for _, size, _ in pace.counts) - earlier_size > 20_000


def test_refused_reply_is_noted_where_a_message_was_sent():
    notes: list[str] = []
    for method in ("GET", "POST", "DELETE"):
        with pytest.raises(ToolUnavailable, match="too much"):
            refuse_reply(Request(method, "http://127.0.0.1/"), f"too much: {method}", notes.append)
    assert notes == ["too much: POST"]


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
        lengths = [len(line.data) async for line in command_transport._read_lines(reader)]
        seconds.append(time.thread_time() - start)
        assert lengths == [size, 1]
    return min(seconds)


async def test_line_of_the_limit_is_read_and_a_longer_one_is_refused():
    for size in (LIMIT, LIMIT + 1):
        reader = asyncio.StreamReader()
        reader.feed_data(b"a\n" + b"x" * size)
        reader.feed_eof()
        lines = command_transport._read_lines(reader)
        assert (await anext(lines)).data == b"a"
        with pytest.raises(StopAsyncIteration if size == LIMIT else MessageTooLong):
            await anext(lines)

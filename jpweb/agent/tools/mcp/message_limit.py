"""Limits of what an MCP server sends: one message over HTTP or a pipe, the list of tools, the rate.

Beyond the rate, reading pauses, so that the pipe or the connection holds the server back
(backpressure). A message is delivered before its pause: one alone is not delayed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NoReturn, cast

import anyio
import httpx2
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from jpweb.agent.errors import ToolUnavailable
from jpweb.token_bucket import TokenBucket

#: Limit of one message: the longest result takes 48 MiB where JSON escapes all of it.
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
#: Limit of the values of one message, each of which becomes a Python object: 250,000 take 0.2 s to
#: parse over a pipe, and 0.4 to 0.8 s over HTTP.
MAX_MESSAGE_VALUES = 250_000
#: Limits of the list of tools, all of whose pages together are as long as one message.
MAX_TOOLS, MAX_TOOL_PAGES = 2_000, 100
#: Token buckets of a connection: burst, and refill per second. Over HTTP a message is two lines.
#: A message costs the event loop 0.05 to 0.5 ms, a MiB 5 to 20 ms, 25,000 values 10 to 80 ms: what
#: a server may send without end takes a tenth of a core.
MESSAGE_BURST, MESSAGES_PER_SECOND = 1_000.0, 400.0
#: Messages that a request counts as: the SDK runs a task, validates four times and replies.
_REQUEST_COST = 5
#: Messages that a response over HTTP counts as: the SDK may connect again for each, in 2 to 3 ms.
_RESPONSE_COST = 10
BYTE_BURST, BYTES_PER_SECOND = 16.0 * 2**20, 4.0 * 2**20
VALUE_BURST, VALUES_PER_SECOND = float(MAX_MESSAGE_VALUES), 25_000.0
#: Replies are not compressed: decoders have no limit, and make gigabytes of 64 KiB.
UNCODED_HEADERS = {"Accept-Encoding": "identity"}
_COMPRESSION_TEXT = "its reply is compressed, although the request excludes that"
_EVENT_STREAM = "text/event-stream"
_OK_STATUS = 200


def describe_limit() -> str:
    """Return the description of a message that is longer than the limit."""
    return f"it sent a message of more than {MAX_MESSAGE_BYTES:,} bytes"


def describe_value_limit() -> str:
    """Return the description of a message with more values than the limit."""
    return f"it sent a message of more than {MAX_MESSAGE_VALUES:,} values"


def find_limit(error: BaseException) -> str | None:
    """Return the description of the limit that an error is about, as the SDK passes it on."""
    if isinstance(error, MessageTooLong):
        return str(error)
    if not isinstance(error, MCPError):
        return None
    if f"exceeded the {MAX_MESSAGE_BYTES} byte limit" in error.message:  # of an event, by httpx2
        return describe_limit()
    limits = (describe_limit(), describe_value_limit())
    return next((limit for limit in limits if limit in error.message), None)


class MessageTooLong(httpx2.StreamError):
    """A message is over a limit. The SDK expects this type where it reads a reply."""


class ValueCounter:
    """Counts the values of a JSON text that comes in pieces, by commas and brackets.

    Those in strings are none. Nothing is parsed: 64 KiB take 0.1 ms, of many strings 2 ms.
    """

    def __init__(self) -> None:
        self.count = 0
        self._is_in_string = False
        self._has_backslash = False

    def feed(self, piece: bytes) -> None:
        """Count the values of the next piece."""
        text = b"\\" + piece if self._has_backslash else piece
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
        self._has_backslash = text.endswith(b"\\")
        parts = text.split(b'"')
        unquoted_text = b"".join(parts[self._is_in_string :: 2])
        self.count += sum(map(unquoted_text.count, (b",", b"[", b"{")))
        self._is_in_string ^= len(parts) % 2 == 0

    def take_count(self) -> int:
        """Return the count, and begin another text."""
        count = self.count
        self.count, self._is_in_string, self._has_backslash = 0, False, False
        return count


class MessagePace:
    """The token buckets of one connection, for its messages, their bytes and their values."""

    def __init__(self) -> None:
        self._messages = TokenBucket(MESSAGE_BURST, MESSAGES_PER_SECOND)
        self._bytes = TokenBucket(BYTE_BURST, BYTES_PER_SECOND)
        self._values = TokenBucket(VALUE_BURST, VALUES_PER_SECOND)

    def count_received(self, messages: int, size: int, values: int = 0) -> float:
        """Return the seconds to pause before more is read."""
        return max(
            self._messages.overdraw_tokens(messages),
            self._bytes.overdraw_tokens(size),
            self._values.overdraw_tokens(values),
        )


def measure_cost(message: SessionMessage | None) -> int:
    """Return as how many messages a line counts, by the message that was parsed of it."""
    is_request = message is not None and isinstance(message.message, JSONRPCRequest)
    return _REQUEST_COST if is_request else 1


class _LimitedStream(httpx2.AsyncByteStream):
    """The body of a response. Raises MessageTooLong beyond the limit.

    A chunk counts as a message: one of a byte costs 0.02 ms, and a read brings 10,000 of them.
    """

    def __init__(self, stream: httpx2.AsyncByteStream, pace: MessagePace) -> None:
        self._stream = stream
        self._pace = pace

    async def __aiter__(self) -> AsyncIterator[bytes]:
        remaining_bytes, counter = MAX_MESSAGE_BYTES, ValueCounter()
        async for chunk in self._stream:
            earlier_count = counter.count
            remaining_bytes -= len(chunk)
            counter.feed(chunk)
            if remaining_bytes < 0:
                raise MessageTooLong(describe_limit())
            if counter.count > MAX_MESSAGE_VALUES:
                raise MessageTooLong(describe_value_limit())
            yield chunk
            await anyio.sleep(self._pace.count_received(1, 0, counter.count - earlier_count))

    async def aclose(self) -> None:
        await self._stream.aclose()


class _EventStream(httpx2.AsyncByteStream):
    """A body of events. Raises SSEError for one with too many values; the SDK limits its bytes."""

    def __init__(self, stream: httpx2.AsyncByteStream, pace: MessagePace) -> None:
        self._stream = stream
        self._pace = pace
        self._values = ValueCounter()
        self._event_values = 0  # of the lines before the current one
        self._line_size = 0
        self._has_return = False  # a carriage return that a line feed may follow

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            line_count, value_count = self._count(chunk)
            yield chunk
            await anyio.sleep(self._pace.count_received(line_count, 0, value_count))

    def _count(self, chunk: bytes) -> tuple[int, int]:
        """Return how many lines and values a chunk has."""
        text = b"\r" + chunk if self._has_return else chunk
        self._has_return = text.endswith(b"\r")
        text = text.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines, value_count = text.split(b"\n"), 0
        for number, line in enumerate(lines):
            if number > 0:
                self._end_line()
            if line:
                value_count += self._count_part(line)
        return len(lines), value_count

    def _count_part(self, line: bytes) -> int:
        """Return how many values a part of a line has. Raises SSEError."""
        earlier_count = self._values.count
        self._values.feed(line)
        self._line_size += len(line)
        if self._event_values + self._values.count > MAX_MESSAGE_VALUES:
            raise httpx2.SSEError(describe_value_limit())
        return self._values.count - earlier_count

    def _end_line(self) -> None:
        """Begin the next line; an empty one ends the event."""
        value_count = self._values.take_count()
        self._event_values = self._event_values + value_count if self._line_size else 0
        self._line_size = 0

    async def aclose(self) -> None:
        await self._stream.aclose()


def refuse_reply(
    request: httpx2.Request, description: str, note_limit: Callable[[str], None]
) -> NoReturn:
    """Raise ToolUnavailable, which ends the session where a message was sent (POST)."""
    if request.method == "POST":
        note_limit(description)
    raise ToolUnavailable(description)


def make_response_hook(
    pace: MessagePace, note_limit: Callable[[str], None]
) -> Callable[[httpx2.Response], Awaitable[None]]:
    """Return the hook that limits the responses of one connection."""

    async def limit_response(response: httpx2.Response) -> None:
        """Limit the body, and pause where responses follow too fast. Raises ToolUnavailable.

        The SDK reads a stream of events by event, others as a whole.
        """
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            refuse_reply(response.request, _COMPRESSION_TEXT, note_limit)
        content_type = response.headers.get("content-type", "").lower()
        is_event_stream = response.status_code == _OK_STATUS and content_type.startswith(
            _EVENT_STREAM
        )
        stream = cast("httpx2.AsyncByteStream", response.stream)
        if is_event_stream and response.request.method != "DELETE":
            response.stream = _EventStream(stream, pace)
        else:
            response.stream = _LimitedStream(stream, pace)
        await anyio.sleep(pace.count_received(_RESPONSE_COST, 0))

    return limit_response

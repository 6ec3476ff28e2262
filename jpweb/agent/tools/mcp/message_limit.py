"""Limits of what an MCP server sends: one message over HTTP or a pipe, and the list of tools."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast

import httpx2
from mcp.shared.exceptions import MCPError

from jpweb.agent.errors import ToolUnavailable

#: Limit of one message: the longest result takes 48 MiB where JSON escapes all of it.
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
#: Limits of the list of tools, all of whose pages together are as long as one message.
MAX_TOOLS, MAX_TOOL_PAGES = 2_000, 100
#: Replies are not compressed: decoders have no limit, and make gigabytes of 64 KiB.
UNCODED_HEADERS = {"Accept-Encoding": "identity"}
_EVENT_STREAM = "text/event-stream"
_OK_STATUS = 200


def describe_limit() -> str:
    """Return the description of a message that is longer than the limit."""
    return f"it sent a message of more than {MAX_MESSAGE_BYTES:,} bytes"


def is_too_long(error: BaseException) -> bool:
    """Return whether an error, as the SDK passes it on, is about a message over the limit."""
    if isinstance(error, MCPError):
        event_limit = f"exceeded the {MAX_MESSAGE_BYTES} byte limit"  # of an event, by httpx2
        return describe_limit() in error.message or event_limit in error.message
    return isinstance(error, MessageTooLong)


class MessageTooLong(httpx2.StreamError):
    """A message is longer than the limit. The SDK expects this type where it reads a reply."""

    def __init__(self) -> None:
        super().__init__(describe_limit())


class _LimitedStream(httpx2.AsyncByteStream):
    """The body of a response. Raises MessageTooLong beyond the limit."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        remaining_bytes = MAX_MESSAGE_BYTES
        async for chunk in self._stream:
            remaining_bytes -= len(chunk)
            if remaining_bytes < 0:
                raise MessageTooLong
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def limit_response(response: httpx2.Response) -> None:
    """Limit the body of a response, which the SDK reads as a whole. Raises ToolUnavailable.

    It reads a stream of events by event, each with its own limit.
    """
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise ToolUnavailable("its reply is compressed, although the request excludes that")
    is_event_stream = response.status_code == _OK_STATUS and response.headers.get(
        "content-type", ""
    ).lower().startswith(_EVENT_STREAM)
    if not is_event_stream or response.request.method == "DELETE":
        response.stream = _LimitedStream(cast("httpx2.AsyncByteStream", response.stream))

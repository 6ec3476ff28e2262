"""Limits of a connection to an MCP server over HTTP: the bytes before a reply, the rate of all.

httpx passes on neither interim responses (1xx) nor the lines that begin chunks, so they are counted
where it reads the network. Its ``trace`` extension yields each network stream.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any, TypeAlias

import anyio
import httpx2

from jpweb.agent.tools.mcp.message_limit import MessagePace, refuse_reply

_Read: TypeAlias = Callable[[int, float | None], Awaitable[bytes]]

#: Limit of the interim responses and the head of one reply: 64 KiB of the shortest are 3,400.
MAX_HEAD_BYTES = 64 * 1024
#: Limit of one read of them: the event loop stands still for 8 ms, not for 130 ms.
_HEAD_READ_BYTES = 4096


def describe_head_limit() -> str:
    """Return the description of a reply whose head is over the limit."""
    return f"it sent more than {MAX_HEAD_BYTES:,} bytes before its reply"


class _ReplyHead:
    """What comes before the body of one reply."""

    def __init__(self, request: httpx2.Request, note_limit: Callable[[str], None]) -> None:
        self._request = request
        self._note_limit = note_limit
        self._bytes_left = MAX_HEAD_BYTES

    def choose_size(self, max_bytes: int) -> int:
        """Return how many bytes may be read now. Raises ToolUnavailable beyond the limit."""
        if self._bytes_left <= 0:
            refuse_reply(self._request, describe_head_limit(), self._note_limit)
        return min(max_bytes, self._bytes_left, _HEAD_READ_BYTES)

    def count_read(self, size: int) -> None:
        self._bytes_left -= size


#: What the current task waits for, up to the end of a reply's head.
_reply_head: ContextVar[_ReplyHead | None] = ContextVar("_reply_head", default=None)


class _PacedReader:
    """Reads one network stream, in place of its ``read``."""

    def __init__(self, read: _Read, pace: MessagePace) -> None:
        self._read = read
        self._pace = pace
        self._next_time = 0.0

    async def __call__(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109  httpcore's
        await anyio.sleep_until(self._next_time)
        head = _reply_head.get()
        if head is not None:
            max_bytes = head.choose_size(max_bytes)
        data = await self._read(max_bytes, timeout)
        if head is not None:
            head.count_read(len(data))
        self._next_time = anyio.current_time() + self._pace.count_received(1, len(data))
        return data


def make_request_hook(
    pace: MessagePace, note_limit: Callable[[str], None]
) -> Callable[[httpx2.Request], Awaitable[None]]:
    """Return the hook that limits what is read for the requests of one client."""

    async def limit_reads(request: httpx2.Request) -> None:
        async def trace(event: str, details: Mapping[str, Any]) -> None:
            _, step, stage = event.split(".")
            if step in ("connect_tcp", "start_tls") and stage == "complete":
                stream = details["return_value"]
                stream.read = _PacedReader(stream.read, pace)
            elif step == "receive_response_headers":
                is_started = stage == "started"
                _reply_head.set(_ReplyHead(request, note_limit) if is_started else None)

        request.extensions["trace"] = trace

    return limit_reads

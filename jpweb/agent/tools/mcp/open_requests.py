"""Limit of the requests of an MCP server that are open: received, and not yet answered.

The SDK runs a task for each. A server that does not read its replies, or asks faster than it is
answered, would fill the memory.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import anyio
from mcp.client._transport import ReadStream, TransportStreams, WriteStream
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

StreamT = TypeVar(
    "StreamT", bound=ReadStream[SessionMessage | Exception] | WriteStream[SessionMessage]
)

#: A call asks up to 25 questions at a time; pings and requests for roots are answered at once.
MAX_OPEN_REQUESTS = 100


def describe_limit() -> str:
    """Return the description of a server with more open requests than the limit."""
    return f"it left more than {MAX_OPEN_REQUESTS} requests open"


@asynccontextmanager
async def limit_requests(
    transport: AbstractAsyncContextManager[TransportStreams], note_excess: Callable[[], None]
) -> AsyncIterator[TransportStreams]:
    """Yield the streams of the transport. Beyond the limit they end, after ``note_excess``."""
    async with transport as (received, to_send):
        counter = _RequestCounter(note_excess)
        yield _CountedReceiver(received, counter), _CountedSender(to_send, counter)


class _RequestCounter:
    """The number of open requests."""

    def __init__(self, note_excess: Callable[[], None]) -> None:
        self._note_excess = note_excess
        self._open_count = 0
        self.is_exceeded = False

    def count_received(self, item: SessionMessage | Exception) -> None:
        """Count a request, until it is replied to or the server has cancelled it."""
        if isinstance(item, Exception) or not isinstance(item.message, JSONRPCRequest):
            return
        item.metadata = ServerMessageMetadata(on_request_unanswered=self._count_unanswered)
        self._open_count += 1
        if self._open_count > MAX_OPEN_REQUESTS:
            self.is_exceeded = True
            self._note_excess()

    def count_sent(self, item: SessionMessage) -> None:
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            self._open_count -= 1

    async def _count_unanswered(self) -> None:
        self._open_count -= 1


class _CountedStream(Generic[StreamT]):
    """One direction of a connection, whose requests are counted."""

    def __init__(self, stream: StreamT, counter: _RequestCounter) -> None:
        self._stream = stream
        self._counter = counter

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


class _CountedReceiver(_CountedStream[ReadStream[SessionMessage | Exception]]):
    """The messages of a server, until it leaves too many requests open."""

    @property
    def last_context(self) -> Any:
        """The context of the last message; the SDK looks for it."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        item = await self._stream.receive()
        self._counter.count_received(item)
        if self._counter.is_exceeded:
            raise anyio.EndOfStream
        return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class _CountedSender(_CountedStream[WriteStream[SessionMessage]]):
    """The messages to a server; after the end of its own none is sent, and none waits."""

    async def send(self, item: SessionMessage, /) -> None:
        try:
            if self._counter.is_exceeded:
                raise anyio.ClosedResourceError
            await self._stream.send(item)
        finally:
            self._counter.count_sent(item)

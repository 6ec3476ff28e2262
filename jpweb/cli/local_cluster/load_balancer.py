"""Load balancer: relays TCP connections to several servers in turn (round robin)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing, suppress
from itertools import count

#: Bytes per read of a relayed stream.
_CHUNK_BYTES = 64 * 1024

_CONNECTION_ERRORS = (OSError, asyncio.IncompleteReadError)


class LoadBalancer:
    """Relays connections to the ports in turn; a server that refuses is skipped.

    Connections are not sticky.
    """

    def __init__(self, host: str, ports: Sequence[int]) -> None:
        self._host = host
        self._ports = ports
        self._counter = count()
        self._relay_tasks: set[asyncio.Task[None]] = set()  # the loop holds only weak references

    @asynccontextmanager
    async def listen_on(self, port: int) -> AsyncIterator[None]:
        """Relay connections of a port while the block runs; at its end all are cut."""
        async with await asyncio.start_server(self._start_relay, self._host, port):
            try:
                yield
            finally:
                for task in self._relay_tasks:
                    task.cancel()
                await asyncio.gather(*self._relay_tasks, return_exceptions=True)

    def _start_relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._relay_connection(reader, writer))
        self._relay_tasks.add(task)
        task.add_done_callback(self._relay_tasks.discard)

    async def _relay_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Relay both ways until the server has sent everything or has gone."""
        with closing(writer):
            upstream = await self._connect_next()
            if upstream is None:
                return
            upstream_reader, upstream_writer = upstream
            request_task = asyncio.ensure_future(_pipe_stream(reader, upstream_writer))
            try:
                await _pipe_stream(upstream_reader, writer)
            finally:
                request_task.cancel()
                # The server has sent everything; unsent request data is discarded.
                upstream_writer.transport.abort()

    async def _connect_next(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        start = next(self._counter)
        for offset in range(len(self._ports)):
            port = self._ports[(start + offset) % len(self._ports)]
            with suppress(OSError):
                return await asyncio.open_connection(self._host, port)
        return None


async def _pipe_stream(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Relay one way until its end, and pass the end on."""
    with suppress(*_CONNECTION_ERRORS):
        while chunk := await source.read(_CHUNK_BYTES):
            sink.write(chunk)
            await sink.drain()
    with suppress(*_CONNECTION_ERRORS):
        if sink.can_write_eof():
            sink.write_eof()

"""Relays connections to several servers in turn; the next connection goes to the next server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing, suppress
from itertools import count

#: Bytes that are relayed at once.
_PIECE = 64 * 1024

_GONE = (OSError, asyncio.IncompleteReadError)


class Balancer:
    """Relays what comes in to the ports, one after the other; a server that is away is passed.

    Whoever comes again may meet another server: nothing sticks.
    """

    def __init__(self, host: str, ports: Sequence[int]) -> None:
        self._host = host
        self._ports = ports
        self._turns = count()
        self._relays: set[asyncio.Task[None]] = set()  # the loop itself holds no task

    @asynccontextmanager
    async def listening(self, port: int) -> AsyncIterator[None]:
        """Relay from a port for as long as the block lasts; then all connections are cut."""
        async with await asyncio.start_server(self._begin, self._host, port):
            try:
                yield
            finally:
                for relay in self._relays:
                    relay.cancel()
                await asyncio.gather(*self._relays, return_exceptions=True)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        relay = asyncio.get_running_loop().create_task(self._relay(reader, writer))
        self._relays.add(relay)
        relay.add_done_callback(self._relays.discard)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Relay both ways until the server has said all, or is gone."""
        with closing(writer):
            onward = await self._onward()
            if onward is None:
                return
            there, back = onward
            asking = asyncio.ensure_future(_pipe(reader, back))
            try:
                await _pipe(there, writer)
            finally:
                asking.cancel()
                back.transport.abort()  # it has said all; what is still for it, nobody reads

    async def _onward(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        first = next(self._turns)
        for each in range(len(self._ports)):
            port = self._ports[(first + each) % len(self._ports)]
            with suppress(OSError):
                return await asyncio.open_connection(self._host, port)
        return None


async def _pipe(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Relay one way until its end, and pass the end on."""
    with suppress(*_GONE):
        while piece := await source.read(_PIECE):
            sink.write(piece)
            await sink.drain()
    with suppress(*_GONE):
        if sink.can_write_eof():
            sink.write_eof()

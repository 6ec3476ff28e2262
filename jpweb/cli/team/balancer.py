"""Relays connections to several servers in turn; the next connection goes to the next server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
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

    async def listen(self, port: int) -> asyncio.Server:
        """Relay from a port, until the server that is returned is closed."""
        return await asyncio.start_server(self._relay, self._host, port)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Relay both ways until the server has said all, or is gone."""
        onward = await self._onward()
        if onward is not None:
            there, back = onward
            asking = asyncio.ensure_future(_pipe(reader, back))
            try:
                await _pipe(there, writer)
            finally:
                asking.cancel()
                await asyncio.wait({asking})
                await _closed(back)
        await _closed(writer)

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


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(*_GONE):
        await writer.wait_closed()

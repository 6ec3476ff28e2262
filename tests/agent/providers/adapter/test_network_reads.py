from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import httpx2
import pytest

from jpweb.agent.providers.adapter.model_request import _open_http
from tests.machine.ports import LOOPBACK

BODY = b"x" * 100_000
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + BODY
INTERIM = b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000


@asynccontextmanager
async def serve(data: bytes, *, is_endless: bool = False) -> AsyncIterator[str]:
    """Answer each request with the data; yield the address. No socket outlives the event loop."""
    tasks: list[asyncio.Task[None] | None] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.append(asyncio.current_task())
        with suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(data)
            await writer.drain()
            while is_endless:
                writer.write(data)
                await writer.drain()
            await reader.read()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async with await asyncio.start_server(answer, LOOPBACK, 0) as server:
        yield f"http://{LOOPBACK}:{server.sockets[0].getsockname()[1]}/"
        await asyncio.gather(*filter(None, tasks))


async def test_long_body_comes_in_small_pieces():
    async with serve(REPLY) as url, _open_http(0) as http, http.stream("GET", url) as response:
        pieces = [piece async for piece in response.aiter_raw()]
    assert b"".join(pieces) == BODY
    assert max(map(len, pieces)) <= 1024


async def test_interim_responses_without_end_fail_the_request():
    async with serve(INTERIM, is_endless=True) as url, _open_http(0) as http, asyncio.timeout(20):
        with pytest.raises(httpx2.RemoteProtocolError, match="more than 65,536 bytes"):
            await http.get(url)

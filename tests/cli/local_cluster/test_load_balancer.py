from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from jpweb.cli.local_cluster.load_balancer import LoadBalancer
from tests.machine.ports import LOOPBACK, free_port

BIG = b"x" * 1_000_000


@asynccontextmanager
async def upstream(name: bytes) -> AsyncIterator[int]:
    """Run a server that says its name, and repeats what it hears until that ends."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(name)
        writer.write(await reader.read())
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(serve, LOOPBACK, 0) as server:
        yield server.sockets[0].getsockname()[1]


async def said(port: int, text: bytes = b"!") -> bytes:
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    writer.write(text)
    writer.write_eof()
    async with asyncio.timeout(10):
        heard = await reader.read()
    writer.close()
    await writer.wait_closed()
    return heard


async def test_connections_go_to_the_servers_in_turn():
    async with upstream(b"one") as one, upstream(b"two") as two:
        port = free_port()
        async with LoadBalancer(LOOPBACK, [one, two]).listen_on(port):
            assert [await said(port) for _ in range(4)] == [b"one!", b"two!", b"one!", b"two!"]


async def test_what_is_long_arrives_whole_and_the_end_is_passed_on():
    async with upstream(b"") as one:
        port = free_port()
        async with LoadBalancer(LOOPBACK, [one]).listen_on(port):
            assert await said(port, BIG) == BIG


async def test_a_server_that_is_away_is_passed_over():
    async with upstream(b"two") as two:
        port = free_port()
        async with LoadBalancer(LOOPBACK, [free_port(), two]).listen_on(port):
            assert [await said(port) for _ in range(3)] == [b"two!"] * 3


async def test_a_client_hears_at_once_that_its_server_is_gone():
    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(serve, LOOPBACK, 0) as server:
        port = free_port()
        one = server.sockets[0].getsockname()[1]
        async with LoadBalancer(LOOPBACK, [one]).listen_on(port):
            reader, writer = await asyncio.open_connection(LOOPBACK, port)
            async with asyncio.timeout(10):
                assert await reader.read() == b"", "though it has said nothing itself"
            writer.close()
            await writer.wait_closed()


async def test_connections_are_cut_when_it_ends():
    async with upstream(b"one") as one:
        port = free_port()
        async with LoadBalancer(LOOPBACK, [one]).listen_on(port):
            reader, writer = await asyncio.open_connection(LOOPBACK, port)
            assert await reader.readexactly(3) == b"one"
        async with asyncio.timeout(10):
            assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()


async def test_where_all_are_away_the_connection_is_closed():
    port = free_port()
    async with LoadBalancer(LOOPBACK, [free_port()]).listen_on(port):
        assert await said(port) == b""

"""Reads what a provider sends in small pieces, so that the event loop serves others in between.

A read of 64 KiB brings 10,000 chunks of a byte, or 3,400 interim responses (1xx). httpx and the
vendors' libraries handle them without a pause, which took 0.4 to 2 s. Its ``trace`` extension
yields each network stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import httpx2

#: Limit of one read. What it brings takes 10 ms at most, mostly in the vendors' libraries.
_PIECE_BYTES = 1024
#: Limit of the interim responses and the head of one reply.
_MAX_HEAD_BYTES = 64 * 1024


class _AwaitedHead:
    """The bytes that may still come before the reply; None while none is awaited."""

    bytes_left: int | None = None


def make_request_hook() -> Callable[[httpx2.Request], Awaitable[None]]:
    """Return the hook of a client that makes one request at a time."""
    head = _AwaitedHead()

    async def trace(event: str, details: Mapping[str, Any]) -> None:
        _, step, stage = event.split(".")
        if step in ("connect_tcp", "start_tls") and stage == "complete":
            stream = details["return_value"]
            stream.read = partial(_read_piece, stream.read, head)
        elif step == "receive_response_headers":
            head.bytes_left = _MAX_HEAD_BYTES if stage == "started" else None

    async def split_reads(request: httpx2.Request) -> None:
        request.extensions["trace"] = trace

    return split_reads


async def _read_piece(
    read: Callable[[int, float | None], Awaitable[bytes]],
    head: _AwaitedHead,
    max_bytes: int,
    timeout: float | None = None,  # noqa: ASYNC109  httpcore's
) -> bytes:
    """Return the next bytes. Raises RemoteProtocolError for a head over the limit."""
    await asyncio.sleep(0)
    if head.bytes_left is not None and head.bytes_left <= 0:
        raise httpx2.RemoteProtocolError(f"more than {_MAX_HEAD_BYTES:,} bytes before the reply")
    data = await read(min(max_bytes, _PIECE_BYTES), timeout)
    if head.bytes_left is not None:
        head.bytes_left -= len(data)
    return data

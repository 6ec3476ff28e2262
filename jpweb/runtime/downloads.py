"""Downloads under way in this process: one large download a person, made at a bounded pace.

A *mark* says that a person has one. It stands in this process's memory, which decides at once, and
as a lease in the database, which tells other server processes. Where the database takes no write,
the memory alone decides: reading goes on.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TypeVar
from weakref import WeakKeyDictionary, finalize

from jpweb.runtime import process
from jpweb.runtime.crossing import in_background, in_store
from jpweb.store.errors import ExportBroken
from jpweb.store.exports import Piece
from jpweb.store.outage import DATABASE_ERROR, find_outage
from jpweb.store.people import downloads
from jpweb.store.people.downloads import DownloadLease

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds between two renewals of a lease.
RENEWAL_SECONDS = downloads.LEASE_SECONDS / 3
#: Seconds of rest after each second of work: all downloads of a process take a third of a core.
REST_RATIO = 2.0


class DownloadUnderWay(Exception):
    """The person has a large download under way; carries its lease."""

    def __init__(self, lease: DownloadLease) -> None:
        super().__init__(f"{lease.file_name} is being downloaded")
        self.lease = lease


class _Pace:
    """Lets one batch of all downloads run at a time, and others' requests between two batches."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._free_at = 0.0

    async def read_next(self, pieces: Iterator[Piece]) -> Piece | None:
        """Return the next piece, or None at the end; a batch that has begun is waited for."""
        async with self._turn:
            await asyncio.sleep(self._free_at - perf_counter())
            began = perf_counter()
            batch = asyncio.ensure_future(in_store(partial(next, pieces, None)))
            try:
                return await asyncio.shield(batch)
            except asyncio.CancelledError:
                # Its thread cannot be interrupted, and uses the generator.
                await asyncio.wait([batch])
                with suppress(asyncio.CancelledError):
                    batch.exception()  # is nobody's concern any more
                raise
            finally:
                now = perf_counter()
                self._free_at = now + REST_RATIO * (now - began)


_paces: WeakKeyDictionary[asyncio.AbstractEventLoop, _Pace] = WeakKeyDictionary()
_marks: dict[int, _Mark] = {}
#: Marks that have ended and whose leases are being released, by person.
_ending: dict[int, _Mark] = {}


async def read_first(pieces: Iterator[Piece]) -> Piece:
    """Return the first piece."""
    piece = await _get_pace().read_next(pieces)
    return Piece(b"", 0, 0) if piece is None else piece


def find(person_id: int) -> DownloadLease | None:
    """Return the download that a person has under way, in this process or another."""
    mark = _marks.get(person_id)
    return mark.lease if mark is not None else downloads.find(person_id)


async def begin(
    person_id: int,
    file_name: str,
    first: Piece,
    rest: Iterator[Piece],
    may_go_on: Callable[[], bool],
) -> Download:
    """Return a large download with the person's mark. Raises DownloadUnderWay.

    ``may_go_on`` is called in a database thread now and then; where it returns False, the download
    breaks off.
    """
    if (earlier := _marks.get(person_id)) is not None:
        raise DownloadUnderWay(earlier.lease)
    holder = f"{process.installation()}#{secrets.token_hex(4)}"
    mark = _marks[person_id] = _Mark(DownloadLease(person_id, holder, file_name), may_go_on)
    try:
        if (earlier := _ending.get(person_id)) is not None:
            await earlier.wait_for_release()
        # None also where the database takes no write: then no other process has a lease either.
        other = await in_store(_attempt, downloads.take, mark.lease)
        if other is not None:
            raise DownloadUnderWay(other)
        mark.keep()
    finally:
        if not mark.is_kept:
            mark.end()
    return Download(mark, first, rest)


class Download:
    """Async iterator of the bytes of a large download; Django closes it with its response."""

    def __init__(self, mark: _Mark, first: Piece, rest: Iterator[Piece]) -> None:
        self._mark = mark
        self._ready: Piece | None = first
        self._rest = rest
        # A response that Django drops without closing it, as where its request is cancelled.
        self._finalizer = finalize(self, mark.end)
        self._finalizer.atexit = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        """Return the next bytes. Raises ExportBroken, or what the database raises."""
        goes_on = False
        try:
            if self._mark.is_revoked:
                raise ExportBroken("The person may not read this any more.")
            piece = self._ready or await _get_pace().read_next(self._rest)
            self._ready = None
            if piece is None:
                raise StopAsyncIteration
            self._mark.note(piece)
            goes_on = True
            return piece.data
        finally:
            if not goes_on:
                self.close()

    def close(self) -> None:
        """End the mark; from any thread, and more than once."""
        self._finalizer()


class _Mark:
    """Says that a person has a large download under way, until it is ended."""

    def __init__(self, lease: DownloadLease, may_go_on: Callable[[], bool]) -> None:
        self.lease = lease
        self.is_revoked = False
        self._may_go_on = may_go_on
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None

    @property
    def is_kept(self) -> bool:
        """Whether a task renews the lease."""
        return self._keeping is not None

    def keep(self) -> None:
        """Renew the lease until the mark is ended, then let go of it."""
        self._keeping = self._loop.create_task(self._keep())

    def note(self, piece: Piece) -> None:
        """Note how far the download is; 100 % is for what the reader has."""
        percent = min(100 * piece.done // max(piece.total, 1), 99)
        self.lease = replace(self.lease, percent=percent)

    def end(self) -> None:
        """End the mark; from any thread."""
        if _marks.get(self.lease.person_id) is self:
            if self.is_kept:
                _ending[self.lease.person_id] = self
            del _marks[self.lease.person_id]
        with suppress(RuntimeError):  # the loop is closed: the lease runs out by itself
            self._loop.call_soon_threadsafe(self._over.set)

    async def wait_for_release(self) -> None:
        """Wait until the lease of a mark that has ended is released."""
        if self._keeping is not None and self._loop is asyncio.get_running_loop():
            await asyncio.wait([self._keeping])

    async def _keep(self) -> None:
        while not self._over.is_set():
            try:
                async with asyncio.timeout(RENEWAL_SECONDS):
                    await self._over.wait()
            except TimeoutError:
                await in_background(self._renew)
        try:
            await in_background(_attempt, downloads.release, self.lease)
        finally:
            if _ending.get(self.lease.person_id) is self:
                del _ending[self.lease.person_id]

    def _renew(self) -> None:
        _attempt(downloads.renew, self.lease)
        self.is_revoked = self.is_revoked or bool(_attempt(lambda: not self._may_go_on()))


def _attempt(function: Callable[..., T], *arguments: object) -> T | None:
    """Return the function's result, or None in an outage of the database, which is logged.

    Raises every other error of the database.
    """
    try:
        return function(*arguments)
    except DATABASE_ERROR as problem:
        if find_outage(problem) is None:
            raise
        logger.info("an outage of the database does not hold up a download: %s", problem)
        return None


def _get_pace() -> _Pace:
    loop = asyncio.get_running_loop()
    return _paces.setdefault(loop, _Pace())

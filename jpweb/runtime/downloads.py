"""Large downloads of this process: one per person, at a bounded pace.

A *mark* records that a person has a download under way: in memory, which needs no query, and
as a lease in the database for other server processes. Without database writes the mark in
memory alone decides, so downloads work in an outage.
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

from jpweb.runtime import process_identity
from jpweb.runtime.db_threads import run_in_background_thread, run_in_db_thread
from jpweb.runtime.tasks import BackgroundTasks
from jpweb.store.database.availability import DATABASE_ERROR, find_outage
from jpweb.store.errors import ExportBroken
from jpweb.store.exports import ExportChunk
from jpweb.store.maintenance import downloads
from jpweb.store.maintenance.downloads import DownloadLease

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds between two renewals of a lease.
RENEWAL_SECONDS = downloads.LEASE_SECONDS / 3
#: Seconds of rest per second of work, so that all downloads of a process use a third of a core.
REST_RATIO = 2.0


class DownloadUnderWay(Exception):
    """The person has a large download under way; ``lease`` is its lease."""

    def __init__(self, lease: DownloadLease) -> None:
        super().__init__(f"{lease.file_name} is being downloaded")
        self.lease = lease


class _DownloadThrottle:
    """Runs one batch of all downloads at a time, with rests for other requests in between."""

    def __init__(self) -> None:
        self._batch_lock = asyncio.Lock()
        self._free_at = 0.0

    async def read_next_piece(self, pieces: Iterator[ExportChunk]) -> ExportChunk | None:
        """Return the next piece, or None at the end; a cancellation awaits the started batch."""
        async with self._batch_lock:
            await asyncio.sleep(self._free_at - perf_counter())
            started_at = perf_counter()
            batch = asyncio.ensure_future(run_in_db_thread(partial(next, pieces, None)))
            try:
                return await asyncio.shield(batch)
            except asyncio.CancelledError:
                # The thread cannot be interrupted and still advances the generator.
                await asyncio.wait([batch])
                with suppress(asyncio.CancelledError):
                    batch.exception()  # mark as retrieved, so that asyncio does not log it
                raise
            finally:
                finished_at = perf_counter()
                self._free_at = finished_at + REST_RATIO * (finished_at - started_at)


_throttles: WeakKeyDictionary[asyncio.AbstractEventLoop, _DownloadThrottle] = WeakKeyDictionary()
_marks: dict[int, _DownloadMark] = {}
#: Marks that have ended and whose leases are being released, by person.
_ending_marks: dict[int, _DownloadMark] = {}
_renewal_tasks = BackgroundTasks()


async def read_first_piece(pieces: Iterator[ExportChunk]) -> ExportChunk:
    """Return the first piece."""
    piece = await _get_throttle().read_next_piece(pieces)
    return ExportChunk(b"", 0, 0) if piece is None else piece


def find_download(person_id: int) -> DownloadLease | None:
    """Return the lease of a person's download, in this process or another."""
    mark = _marks.get(person_id)
    return mark.lease if mark is not None else downloads.find_lease(person_id)


def find_rival(person_id: int) -> DownloadLease | None:
    """Return the lease by which a person's further download is refused.

    That of a download which has ended here refuses none: its release is awaited.
    """
    if (mark := _marks.get(person_id)) is not None:
        return mark.lease
    is_ending = person_id in _ending_marks  # the release may end during the query
    lease = downloads.find_lease(person_id)
    return None if is_ending or person_id in _ending_marks else lease


async def begin_download(
    person_id: int,
    file_name: str,
    first_piece: ExportChunk,
    remaining_pieces: Iterator[ExportChunk],
    can_continue: Callable[[], bool],
) -> Download:
    """Start a large download and take the person's mark. Raises DownloadUnderWay.

    ``can_continue`` is called in a database thread at each renewal; where it returns False, the
    download ends with an error.
    """
    if (earlier_mark := _marks.get(person_id)) is not None:
        raise DownloadUnderWay(earlier_mark.lease)
    holder = f"{process_identity.get_installation_name()}#{secrets.token_hex(4)}"
    mark = _marks[person_id] = _DownloadMark(
        DownloadLease(person_id, holder, file_name), can_continue, remaining_pieces
    )
    try:
        if (earlier_mark := _ending_marks.get(person_id)) is not None:
            await earlier_mark.wait_for_release()
        # None also in an outage: then no other process can acquire a lease either.
        other_lease = await run_in_db_thread(
            _run_tolerating_outage, downloads.acquire_lease, mark.lease
        )
        if other_lease is not None:
            raise DownloadUnderWay(other_lease)
        mark.start_renewal()
    finally:
        if not mark.is_renewed:
            mark.end_mark()
    return Download(mark, first_piece, remaining_pieces)


async def resume_download(
    person_id: int,
    file_name: str,
    remaining_pieces: Iterator[ExportChunk],
    can_continue: Callable[[], bool],
) -> Download:
    """Take the person's mark for a download that is resumed. Raises DownloadUnderWay.

    An earlier response with the same pieces loses it, and its connection: that may have died
    silently, which the server finds out only minutes later.
    """
    mark = _marks.get(person_id)
    if mark is not None and mark.is_renewed and mark.pieces is remaining_pieces:
        mark.supersede()
    empty_chunk = ExportChunk(b"", 0, 0)
    return await begin_download(person_id, file_name, empty_chunk, remaining_pieces, can_continue)


class Download:
    """Async iterator of the bytes of a large download; Django closes it with its response."""

    def __init__(
        self, mark: _DownloadMark, first_piece: ExportChunk, remaining_pieces: Iterator[ExportChunk]
    ) -> None:
        self._mark = mark
        self._next_piece: ExportChunk | None = first_piece
        self._remaining_pieces = remaining_pieces
        # Django drops a response without ``close()`` where its request is cancelled.
        self._finalizer = finalize(self, mark.end_mark)
        self._finalizer.atexit = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        """Return the next bytes. Raises the errors of ``check_mark``, or the database's."""
        has_more = False
        try:
            piece = await self._read_piece()
            if piece is None:
                raise StopAsyncIteration
            has_more = True
            return piece.data
        finally:
            if not has_more:
                self.close()

    async def _read_piece(self) -> ExportChunk | None:
        self.check_mark()
        piece = self._next_piece or await _get_throttle().read_next_piece(self._remaining_pieces)
        self._next_piece = None
        if piece is not None:
            self._mark.note_progress(piece)
        return piece

    def check_mark(self) -> None:
        """Raise ExportBroken where the person may not read it any more.

        Raises DownloadUnderWay where another response resumes it.
        """
        if self._mark.is_superseded:
            raise DownloadUnderWay(self._mark.lease)
        if self._mark.is_revoked:
            raise ExportBroken("The person may not read this any more.")

    def call_when_superseded(self, function: Callable[[], None]) -> None:
        """Call a function in the event loop once another response resumes the download."""
        self._mark.on_superseded = function

    async def make_remaining(self) -> None:
        """Make all pieces of a download that keeps them. Raises what reading it raises."""
        while await self._read_piece() is not None:
            pass

    async def make_first_piece(self) -> None:
        """Replace the first piece by the next one. Raises its error, which ends the mark."""
        is_made = False
        try:
            self._next_piece = await _get_throttle().read_next_piece(self._remaining_pieces)
            is_made = True
        finally:
            if not is_made:
                self.close()

    def close(self) -> None:
        """End the mark. Thread-safe and idempotent."""
        self._finalizer()


class _DownloadMark:
    """Records that a person has a large download under way."""

    def __init__(
        self,
        lease: DownloadLease,
        can_continue: Callable[[], bool],
        pieces: Iterator[ExportChunk],
    ) -> None:
        self.lease = lease
        self.pieces = pieces
        self.is_revoked = self.is_superseded = False
        self.on_superseded: Callable[[], None] = lambda: None
        self._can_continue = can_continue
        self._loop = asyncio.get_running_loop()
        self._over_event = asyncio.Event()
        self._renewal_task: asyncio.Task[None] | None = None

    @property
    def is_renewed(self) -> bool:
        """Whether a task renews the lease."""
        return self._renewal_task is not None

    def start_renewal(self) -> None:
        """Renew the lease in a task until the mark ends, then release it."""
        self._renewal_task = _renewal_tasks.spawn_task(self._renew_until_over())

    def note_progress(self, piece: ExportChunk) -> None:
        """Update the percentage; at most 99, because the reader lags behind."""
        percent = min(100 * piece.done_rows // max(piece.total_rows, 1), 99)
        self.lease = replace(self.lease, percent=percent)

    def supersede(self) -> None:
        """End the mark for another response with the same pieces."""
        self.is_superseded = True
        self.end_mark()
        with suppress(RuntimeError):  # the loop is closed, and its connections with it
            self._loop.call_soon_threadsafe(self.on_superseded)

    def end_mark(self) -> None:
        """End the mark. Thread-safe."""
        if _marks.get(self.lease.person_id) is self:
            if self.is_renewed:
                _ending_marks[self.lease.person_id] = self
            del _marks[self.lease.person_id]
        with suppress(RuntimeError):  # the loop is closed: the lease expires
            self._loop.call_soon_threadsafe(self._over_event.set)

    async def wait_for_release(self) -> None:
        """Wait until the lease of an ended mark is released."""
        if self._renewal_task is not None and self._loop is asyncio.get_running_loop():
            await asyncio.wait([self._renewal_task])

    async def _renew_until_over(self) -> None:
        while not self._over_event.is_set():
            try:
                async with asyncio.timeout(RENEWAL_SECONDS):
                    await self._over_event.wait()
            except TimeoutError:
                await run_in_background_thread(self._renew_lease)
        try:
            await run_in_background_thread(
                _run_tolerating_outage, downloads.release_lease, self.lease
            )
        finally:
            if _ending_marks.get(self.lease.person_id) is self:
                del _ending_marks[self.lease.person_id]

    def _renew_lease(self) -> None:
        _run_tolerating_outage(downloads.renew_lease, self.lease)
        self.is_revoked = self.is_revoked or bool(
            _run_tolerating_outage(lambda: not self._can_continue())
        )


def _run_tolerating_outage(function: Callable[..., T], *arguments: object) -> T | None:
    """Return the function's result, or None in a database outage, which is logged.

    Raises every other database error.
    """
    try:
        return function(*arguments)
    except DATABASE_ERROR as error:
        if find_outage(error) is None:
            raise
        logger.info("A download continues during a database outage: %s", error)
        return None


def _get_throttle() -> _DownloadThrottle:
    loop = asyncio.get_running_loop()
    return _throttles.setdefault(loop, _DownloadThrottle())

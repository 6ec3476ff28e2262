"""Large downloads that were cut and can be resumed by this process, for a while.

What was made of a download stays in a file without a name, which nobody else can open and no
backup holds. The iterator of its pieces stays too; between two pieces it holds no connection. A
resumed download makes the rest before its first byte, because HTTP wants the length (RFC 9110,
section 14.4).
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import secrets
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from time import monotonic
from typing import NamedTuple, Self
from weakref import finalize

from django.conf import settings

from jpweb import data_folder
from jpweb.runtime.db_threads import run_in_background_thread, run_in_db_thread
from jpweb.store.errors import ExportBroken
from jpweb.store.exports import ExportChunk
from jpweb.store.maintenance.downloads import ContentVersion

logger = logging.getLogger(__name__)

#: Seconds without a reader after which a download can't be resumed any more.
KEPT_SECONDS = 600.0
#: Bytes of one kept download, and the number of them in a process; the oldest leaves.
MAX_KEPT_BYTES, MAX_KEPT_DOWNLOADS = 1 << 30, 20
#: Bytes that a download reads or sends at once.
SLICE_BYTES = 512 * 1024
#: Seconds between two checks of whether a person may still read a resumed download.
CHECK_SECONDS = 5.0
#: The one form of a range that is served: from a byte to the end.
_RANGE = re.compile(r"bytes=(\d{1,18})-")

_kept_downloads: dict[int, KeptDownload] = {}


class DownloadKey(NamedTuple):
    """The owner of a download, its address, and its dependencies beside the journal."""

    person_id: int
    address: str
    version: ContentVersion


class KeptDownload:
    """Iterator of the pieces of a download, which keeps their bytes."""

    def __init__(self, key: DownloadKey, pieces: Iterator[ExportChunk]) -> None:
        self.key = key
        self.etag = f'"{secrets.token_hex(16)}"'
        self.byte_count = 0
        self.is_complete = False
        self.used_at = monotonic()
        self._pieces = pieces
        self._file: _NamelessFile | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ExportChunk:
        """Return the next piece; in a database thread.

        An error of the source ends the chance to resume: a generator that has raised is exhausted,
        so its next call would look like the end of the download.
        """
        has_failed = True
        try:
            piece = next(self._pieces, None)
            has_failed = False
        finally:
            if has_failed:
                self._file = None
        if piece is None:
            self.is_complete = True
            raise StopIteration
        self.keep_bytes(piece.data)
        return piece

    def keep_bytes(self, data: bytes) -> None:
        """Append bytes to the file. Where they are too many, or the disk is full, drop it."""
        self.used_at = monotonic()
        is_first = not self.byte_count
        self.byte_count += len(data)
        try:
            if is_first:
                self._file = _NamelessFile()
            if self._file is not None and self.byte_count <= MAX_KEPT_BYTES:
                self._file.write(data)
            else:
                self._file = None
        except OSError as error:
            logger.warning("A download can't be resumed: %s", error)
            self._file = None

    @property
    def is_kept(self) -> bool:
        """Whether all bytes so far are in the file."""
        return self._file is not None

    async def read_from(
        self, offset: int, can_continue: Callable[[], bool]
    ) -> AsyncIterator[bytes]:
        """Yield the bytes of a complete download from an offset on.

        ``can_continue`` is called in a database thread before a slice, every ``CHECK_SECONDS``.
        Raises ExportBroken where it returns False, or the database's error.
        """
        checked_at = monotonic()
        while offset < self.byte_count:
            if monotonic() - checked_at >= CHECK_SECONDS:
                if not await run_in_db_thread(can_continue):
                    raise ExportBroken("The person may not read this any more.")
                checked_at = monotonic()
            data = await run_in_background_thread(self._read, offset)
            if not data:
                return
            offset += len(data)
            yield data

    def _read(self, offset: int) -> bytes:
        self.used_at = monotonic()
        return self._file.read(offset) if self._file else b""


class _NamelessFile:
    """A file of the data folder without a name; it ends with this object."""

    def __init__(self) -> None:
        # A web server of a team keeps nothing else there.
        data_folder.make_folder(settings.DATA_DIR)
        with tempfile.TemporaryFile(dir=settings.DATA_DIR) as file:
            self._descriptor = os.dup(file.fileno())
        finalize(self, os.close, self._descriptor)

    def write(self, data: bytes) -> None:
        """Append all of these bytes."""
        remainder = memoryview(data)
        while remainder:
            remainder = remainder[os.write(self._descriptor, remainder) :]

    def read(self, offset: int) -> bytes:
        """Return the next bytes from an offset on."""
        return os.pread(self._descriptor, SLICE_BYTES, offset)


def keep_download(download: KeptDownload) -> None:
    """Let a person resume this download, instead of an earlier one, until nobody uses it."""
    _kept_downloads.pop(download.key.person_id, None)
    _kept_downloads[download.key.person_id] = download
    while len(_kept_downloads) > MAX_KEPT_DOWNLOADS:
        del _kept_downloads[next(iter(_kept_downloads))]
    _drop_when_unused(download)


def find_kept(person_id: int, address: str, etag: str) -> KeptDownload | None:
    """Return a download that a person can resume at this address; None for any other."""
    download = _kept_downloads.get(person_id)
    if download is None or not download.is_kept or download.key.address != address:
        return None
    return download if secrets.compare_digest(download.etag.encode(), etag.encode()) else None


def drop_download(download: KeptDownload) -> None:
    """Let nobody resume a download."""
    if _kept_downloads.get(download.key.person_id) is download:
        del _kept_downloads[download.key.person_id]


def parse_range(text: str) -> int | None:
    """Return the first byte that a Range header asks for; None for one that is not served."""
    match = _RANGE.fullmatch(text)
    return int(match[1]) if match else None


def _drop_when_unused(download: KeptDownload) -> None:
    left_seconds = download.used_at + KEPT_SECONDS - monotonic()
    if left_seconds <= 0:
        drop_download(download)
    elif _kept_downloads.get(download.key.person_id) is download:
        asyncio.get_running_loop().call_later(left_seconds, _drop_when_unused, download)

"""A zip that is written in order, into memory that the caller empties: no file on the disk."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable, Iterator
from typing import IO, NamedTuple, cast

from jpweb.evidence.bundle_files import (
    MAX_FILE_BYTES,
    MAX_JSON_BYTES,
    MAX_LINE_BYTES,
    MAX_TOTAL_BYTES,
)
from jpweb.store.errors import ExportBroken

#: A fixed time: the same content is the same zip. It is the earliest that a zip can name.
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)
_UNIX, _FILE_MODE = 3, 0o100644
_TOO_LARGE = "The bundle is larger than what verify_bundle.py reads. Narrow the filters."


class WrittenFile(NamedTuple):
    """A file of a zip, with its length and SHA-256."""

    name: str
    size: int
    sha256: str


class ZipStream:
    """Writes files into a zip; ``take_bytes`` returns the bytes written since its last call."""

    def __init__(self) -> None:
        self._sink = _Sink()
        self._archive = zipfile.ZipFile(cast("IO[bytes]", self._sink), "w")
        self.files: list[WrittenFile] = []
        self._total_bytes = 0

    @property
    def pending_bytes(self) -> int:
        """The number of bytes that ``take_bytes`` would return."""
        return self._sink.size

    def write_file(self, name: str, pieces: Iterable[bytes]) -> Iterator[None]:
        """Write a file; yields after each piece.

        Raises ExportBroken beyond what ``verify_bundle.py`` reads of a file, a line, or of all.
        """
        info = zipfile.ZipInfo(name, _FIXED_TIME)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.create_system, info.external_attr = _UNIX, _FILE_MODE << 16
        digest, size, line_bytes = hashlib.sha256(), 0, 0
        max_bytes = MAX_JSON_BYTES if name.endswith(".json") else MAX_FILE_BYTES
        with self._archive.open(info, "w") as member:
            for piece in pieces:
                digest.update(piece)
                size += member.write(piece)
                self._total_bytes += len(piece)
                if size > max_bytes or self._total_bytes > MAX_TOTAL_BYTES:
                    raise ExportBroken(_TOO_LARGE)
                if name.endswith(".jsonl"):
                    line_bytes = _measure_last_line(line_bytes, piece)
                yield
        self.files.append(WrittenFile(name, size, digest.hexdigest()))

    def close(self) -> None:
        """Write the directory at the end."""
        self._archive.close()

    def take_bytes(self) -> bytes:
        """Return the bytes since the last call."""
        return self._sink.take_bytes()


def _measure_last_line(line_bytes: int, piece: bytes) -> int:
    """Return the bytes of the last line, of which ``line_bytes`` precede the piece.

    Raises ExportBroken for a line beyond what ``verify_bundle.py`` reads.
    """
    for line in piece.splitlines(keepends=True):
        line_bytes += len(line)
        if line_bytes > MAX_LINE_BYTES:
            raise ExportBroken(_TOO_LARGE)
        if line.endswith(b"\n"):
            line_bytes = 0
    return line_bytes


class _Sink:
    """A file that can only be written; ``zipfile`` then writes lengths behind the contents."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.size = 0

    def write(self, data: bytes) -> int:
        """Keep bytes until they are taken."""
        self._pieces.append(bytes(data))
        self.size += len(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing, as ``zipfile`` asks for it."""

    def take_bytes(self) -> bytes:
        """Return and forget the bytes."""
        data = b"".join(self._pieces)
        self._pieces.clear()
        self.size = 0
        return data

"""Reads the files of an evidence bundle, a zip, within bounds."""

from __future__ import annotations

import hashlib
import io
import json
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

#: Bounds of reading, so that a hostile file costs little.
MAX_FILES, MAX_FILE_BYTES, MAX_TOTAL_BYTES = 20_000, 1 << 30, 4 << 30
MAX_JSON_BYTES, MAX_LINE_BYTES = 32 << 20, 128 << 20
_SAFE_NAME = re.compile(r"(?!\.)[A-Za-z0-9_.-]+(/(?!\.)[A-Za-z0-9_.-]+)*", re.ASCII)
_FILE_TYPE_BITS, _LINK_BITS = 0o170000, 0o120000
_PIECE_BYTES = 1 << 20
#: Records of a zip (APPNOTE.TXT, 4.3): before a file's data, behind it, in the directory, its ends.
_HEADER, _DESCRIPTOR = struct.Struct("<4sHHHLLLLHH"), struct.Struct("<4sLLL")
_HEADER_MARK, _DESCRIPTOR_MARK, _DESCRIPTOR_BIT = b"PK\x03\x04", b"PK\x07\x08", 1 << 3
_DIRECTORY_ENTRY_BYTES, _END_BYTES, _ZIP64_END_BYTES = 46, 22, 76
#: Greater offsets are in an additional field, and the directory has a second end.
_MAX_ZIP32_OFFSET = (1 << 31) - 1
_DAMAGE_ERRORS = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError,
    ValueError, RecursionError, LookupError, TypeError, AttributeError, StopIteration,
    OverflowError,
)  # fmt: skip


class Damage(NamedTuple):
    """A contradiction in a bundle, in the file ``name``."""

    name: str
    text: str

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"


class InvalidBundle(Exception):
    """A file of a bundle cannot be used; ``name`` is that file's."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{name}: {text}")
        self.damage = Damage(name, text)


class Bundle:
    """The files of a zip, within bounds. Raises InvalidBundle where it breaks them."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        members = archive.infolist()
        if len(members) > MAX_FILES:
            raise InvalidBundle("the bundle", f"it has more than {MAX_FILES} files")
        if sum(member.file_size for member in members) > MAX_TOTAL_BYTES:
            raise InvalidBundle("the bundle", f"it unpacks to more than {MAX_TOTAL_BYTES} bytes")
        counts = Counter(member.filename for member in members)
        for member in members:
            _check_member(member)
            if counts[member.filename] > 1:
                raise InvalidBundle(member.filename, "the bundle has it twice")
        with report_damage("the bundle"):
            _check_layout(archive, members)
        self.names = sorted(counts)

    def hash_file(self, name: str) -> str:
        """Return the SHA-256 of a file."""
        digest = hashlib.sha256()
        with self._open(name) as file:
            while piece := file.read(_PIECE_BYTES):
                digest.update(piece)
        return digest.hexdigest()

    def read_bytes(self, name: str) -> bytes:
        """Return a small file."""
        with self._open(name) as file:
            data = file.read(MAX_JSON_BYTES + 1)
        if len(data) > MAX_JSON_BYTES:
            raise InvalidBundle(name, f"it is longer than {MAX_JSON_BYTES} bytes")
        return data

    def read_object(self, name: str) -> dict[str, Any]:
        """Return the JSON object of a file."""
        data = self.read_bytes(name)
        with report_damage(name):
            value = json.loads(data)
        if not isinstance(value, dict):
            raise InvalidBundle(name, "it is not a JSON object")
        return value

    def iter_objects(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the JSON object of each line of a file."""
        with self._open(name) as file:
            while line := file.readline(MAX_LINE_BYTES + 1):
                if len(line) > MAX_LINE_BYTES:
                    raise InvalidBundle(name, f"a line is longer than {MAX_LINE_BYTES} bytes")
                value = json.loads(line)
                if not isinstance(value, dict):
                    raise InvalidBundle(name, "a line is not a JSON object")
                yield value

    @contextmanager
    def _open(self, name: str) -> Iterator[IO[bytes]]:
        if name not in self.names:
            raise InvalidBundle(name, "it is missing")
        with report_damage(name), self._archive.open(name) as file:
            yield file


@contextmanager
def open_bundle(file: Path | BinaryIO) -> Iterator[Bundle]:
    """Open a bundle. Raises InvalidBundle, and OSError where the file cannot be read."""
    with ExitStack() as stack:
        with report_damage(file.name if isinstance(file, Path) else "the bundle"):
            # An archive keeps a file of its own open while a reader of its lines is unfinished.
            # Python 3.13 frees one that an error ended only when it collects garbage.
            stream = stack.enter_context(file.open("rb")) if isinstance(file, Path) else file
            archive = stack.enter_context(zipfile.ZipFile(stream))
        yield Bundle(archive)


def _check_member(member: zipfile.ZipInfo) -> None:
    name = member.filename
    if not _SAFE_NAME.fullmatch(name):
        raise InvalidBundle(ascii(name), "a file with such a name is refused")
    if member.external_attr >> 16 & _FILE_TYPE_BITS == _LINK_BITS:
        raise InvalidBundle(name, "it is a link, which is refused")
    if member.flag_bits & 1 or member.compress_type not in (
        zipfile.ZIP_STORED,
        zipfile.ZIP_DEFLATED,
    ):
        raise InvalidBundle(name, "it is encrypted, or compressed in an unknown way")
    if member.file_size > MAX_FILE_BYTES:
        raise InvalidBundle(name, f"it unpacks to more than {MAX_FILE_BYTES} bytes")


def _check_layout(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo]) -> None:
    """Raise InvalidBundle for bytes of no file: another program may show them."""
    file = archive.fp
    assert file is not None  # noqa: S101  the archive is open
    end = 0
    for member in sorted(members, key=lambda member: member.header_offset):
        if member.header_offset < 0:  # zipfile counts offsets back from the end of the zip
            raise InvalidBundle("the bundle", "bytes are missing in it")
        is_next = member.header_offset == end
        if not is_next or member.comment or member.extra != _make_extra(member.header_offset):
            raise InvalidBundle(member.filename, "the zip has bytes at it that belong to no file")
        end = _find_end(file, member)
    directory = sum(
        _DIRECTORY_ENTRY_BYTES + len(member.filename) + len(member.extra) for member in members
    )
    zip64_end = _ZIP64_END_BYTES if end > _MAX_ZIP32_OFFSET else 0
    size = file.seek(0, io.SEEK_END)
    if archive.start_dir != end or size != end + directory + zip64_end + _END_BYTES:
        raise InvalidBundle("the bundle", "the zip has bytes that belong to no file")


def _make_extra(offset: int) -> bytes:
    """Return the additional field of a file in the directory: its offset, where that is great."""
    return struct.pack("<HHQ", 1, 8, offset) if offset > _MAX_ZIP32_OFFSET else b""


def _find_end(file: IO[bytes], member: zipfile.ZipInfo) -> int:
    """Return the offset behind a file. Raises InvalidBundle where the directory has other values.

    Programs that read a zip from a pipe see those before and behind the file's data alone.
    """
    sums = member.CRC, member.compress_size, member.file_size
    has_descriptor = bool(member.flag_bits & _DESCRIPTOR_BIT)
    file.seek(member.header_offset)
    values = _HEADER.unpack(file.read(_HEADER.size))
    mark, _, flags, compression, _, *header_sums, name_bytes, extra_bytes = values
    end: int = member.header_offset + _HEADER.size + name_bytes + member.compress_size
    expected_fields = _HEADER_MARK, member.flag_bits, member.compress_type, len(member.filename), 0
    is_same = (mark, flags, compression, name_bytes, extra_bytes) == expected_fields
    is_same &= tuple(header_sums) == ((0, 0, 0) if has_descriptor else sums)
    if has_descriptor:
        file.seek(end)
        descriptor = file.read(_DESCRIPTOR.size)
        is_same &= descriptor == _DESCRIPTOR.pack(_DESCRIPTOR_MARK, *sums)
        end += _DESCRIPTOR.size
    if member.compress_type == zipfile.ZIP_STORED:
        is_same &= member.compress_size == member.file_size
    if not is_same:
        raise InvalidBundle(member.filename, "the zip's directory and the file's own header differ")
    return end


@contextmanager
def report_damage(name: str) -> Iterator[None]:
    """Raise InvalidBundle in place of the errors that damage in a file causes."""
    try:
        yield
    except InvalidBundle:
        raise
    except _DAMAGE_ERRORS as error:
        raise InvalidBundle(name, f"it is damaged ({type(error).__name__}: {error})") from error

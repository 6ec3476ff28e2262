"""Reads the files of an evidence bundle, a zip, within bounds."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

#: Bounds of what is read, so that a hostile file costs little.
MAX_FILES, MAX_FILE_BYTES, MAX_TOTAL_BYTES = 20_000, 1 << 30, 4 << 30
MAX_JSON_BYTES, MAX_LINE_BYTES = 32 << 20, 128 << 20
_SAFE_NAME = re.compile(r"(?!\.)[A-Za-z0-9_.-]+(/(?!\.)[A-Za-z0-9_.-]+)*", re.ASCII)
_FILE_TYPE_BITS, _LINK_BITS = 0o170000, 0o120000
_PIECE_BYTES = 1 << 20
_DAMAGE_ERRORS = (
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError,
    RecursionError, KeyError, TypeError, AttributeError, StopIteration,
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
            raise InvalidBundle(name, "it is no JSON object")
        return value

    def iter_objects(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the JSON object of each line of a file."""
        with self._open(name) as file:
            while line := file.readline(MAX_LINE_BYTES + 1):
                if len(line) > MAX_LINE_BYTES:
                    raise InvalidBundle(name, f"a line is longer than {MAX_LINE_BYTES} bytes")
                value = json.loads(line)
                if not isinstance(value, dict):
                    raise InvalidBundle(name, "a line is no JSON object")
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
    with report_damage(file.name if isinstance(file, Path) else "the bundle"):
        archive = zipfile.ZipFile(file)
    with archive:
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


@contextmanager
def report_damage(name: str) -> Iterator[None]:
    """Raise InvalidBundle in place of the errors that damage in a file causes."""
    try:
        yield
    except InvalidBundle:
        raise
    except _DAMAGE_ERRORS as error:
        raise InvalidBundle(name, f"it is damaged ({type(error).__name__}: {error})") from error

"""The file of a backup: a zip with the rows of each table as JSON lines, and a manifest."""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from jpweb.store.errors import BadBackup

#: Grows when an older jpweb can not read what is written.
FORMAT = 1
_MANIFEST = "manifest.json"
#: Damage of a zip, as its library reports it; the last is an unknown compression.
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError)

_encode = msgspec.json.Encoder().encode
_ROW = msgspec.json.Decoder(list[Any])


class Table(msgspec.Struct):
    """A table's columns, the number of its rows, and the SHA-256 of its member of the zip."""

    name: str
    columns: list[str]
    rows: int = 0
    sha256: str = ""


class Manifest(msgspec.Struct):
    """The origin of a backup, the newest migration of its rows, and its tables."""

    jpweb: str
    engine: str
    made_at: str
    migration: str
    tables: list[Table]
    format: int = FORMAT

    @property
    def rows(self) -> int:
        """The number of rows of all tables."""
        return sum(table.rows for table in self.tables)


class ArchiveWriter:
    """Writes the rows of tables into a zip."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def write_table(self, table: Table, rows: Iterable[list[Any]]) -> None:
        """Write a table, and note the number and the hash of its rows in it."""
        digest = hashlib.sha256()
        with self._archive.open(_name_member(table), "w", force_zip64=True) as member:
            for row in rows:
                line = _encode(row) + b"\n"
                digest.update(line)
                member.write(line)
                table.rows += 1
        table.sha256 = digest.hexdigest()

    def write_manifest(self, manifest: Manifest) -> None:
        """Write the manifest; the tables come before it."""
        text = msgspec.json.format(_encode(manifest), indent=2)
        self._archive.writestr(_MANIFEST, text)


class ArchiveReader:
    """Reads a zip that an ``ArchiveWriter`` has made."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        """Read the manifest. Raises BadBackup."""
        self._archive = archive
        self._name = name
        with self._telling():
            try:
                text = archive.read(_MANIFEST)
            except KeyError:
                raise BadBackup(f"{name} is no backup of jpweb: it holds no manifest.") from None
        try:
            if msgspec.json.decode(text, type=_Edition).format > FORMAT:
                raise BadBackup(f"{name} is of a newer jpweb. Install that, then restore.")
            self.manifest = msgspec.json.decode(text, type=Manifest)
        except msgspec.MsgspecError as problem:
            raise BadBackup(f"{name} has a damaged manifest: {problem}.") from problem

    def check_hashes(self) -> None:
        """Raise BadBackup where a table is not as the manifest says."""
        for table in self.manifest.tables:
            digest = hashlib.sha256()
            with self._telling():
                for line in self._lines(table):
                    digest.update(line)
            if digest.hexdigest() != table.sha256:
                raise BadBackup(f"{self._name} is damaged: {table.name} is not as it was written.")

    def rows(self, table: Table) -> Iterator[list[Any]]:
        """Yield the rows of a table. Raises BadBackup."""
        with self._telling():
            for line in self._lines(table):
                row = _ROW.decode(line)
                if len(row) != len(table.columns):
                    raise BadBackup(f"{self._name} is damaged: a row of {table.name}.")
                yield row

    def _lines(self, table: Table) -> Iterator[bytes]:
        try:
            member = self._archive.open(_name_member(table))
        except KeyError:
            raise BadBackup(f"{self._name} is damaged: {table.name} is missing.") from None
        with member:
            yield from member

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Raise BadBackup for damage of the zip or of a line."""
        try:
            yield
        except (*_DAMAGE, msgspec.MsgspecError) as problem:
            raise BadBackup(f"{self._name} is damaged: {problem}.") from problem


@contextmanager
def create_archive(path: Path) -> Iterator[ArchiveWriter]:
    """Write a file that is there as a whole or not at all, readable by its owner alone.

    Raises BadBackup where it can not be written.
    """
    try:
        with _temporary(path) as (handle, temporary):
            # mkstemp makes it with mode 0600.
            with (
                os.fdopen(handle, "wb") as file,
                zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive,
            ):
                yield ArchiveWriter(archive)
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
            temporary.replace(path)
    except OSError as error:
        raise BadBackup(f"{path} cannot be written: {error.strerror}.") from error


@contextmanager
def _temporary(path: Path) -> Iterator[tuple[int, Path]]:
    """Give a new file beside a path; it is removed unless it has been renamed."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        yield handle, temporary
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


@contextmanager
def open_archive(path: Path) -> Iterator[ArchiveReader]:
    """Open a backup. Raises BadBackup where it is none."""
    try:
        archive = zipfile.ZipFile(path)
    except OSError as error:
        raise BadBackup(f"{path} cannot be read: {error.strerror}.") from error
    except zipfile.BadZipFile:
        raise BadBackup(f"{path} is no backup of jpweb.") from None
    with archive:
        yield ArchiveReader(archive, str(path))


class _Edition(msgspec.Struct):
    format: int


def _name_member(table: Table) -> str:
    return f"tables/{table.name}.jsonl"

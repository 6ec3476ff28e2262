"""Backup file: a zip with a manifest and the rows of each table as JSON lines."""

from __future__ import annotations

import hashlib
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from jpweb.store.backups.unfinished_files import create_unfinished
from jpweb.store.errors import InvalidBackup

#: Version of the file format; raised when an older jpweb cannot read the new one.
FORMAT_VERSION = 1
_MANIFEST = "manifest.json"
#: Errors of ``zipfile`` for a damaged zip: NotImplementedError is an unknown method or version,
#: RuntimeError a member that seems encrypted, ValueError a name without a valid encoding.
_DAMAGE_ERRORS = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError,
    ValueError,
)  # fmt: skip

_encode_json = msgspec.json.Encoder().encode
_ROW_DECODER = msgspec.json.Decoder(list[Any])


class BackupTable(msgspec.Struct):
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
    tables: list[BackupTable]
    format: int = FORMAT_VERSION

    @property
    def rows(self) -> int:
        """The number of rows of all tables."""
        return sum(table.rows for table in self.tables)


class ArchiveWriter:
    """Writes the rows of tables into a zip."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def write_table(self, table: BackupTable, rows: Iterable[list[Any]]) -> None:
        """Write a table, and set the number and the SHA-256 of its rows in ``table``."""
        digest = hashlib.sha256()
        with self._archive.open(_name_member(table), "w", force_zip64=True) as member:
            for row in rows:
                line = _encode_json(row) + b"\n"
                digest.update(line)
                member.write(line)
                table.rows += 1
        table.sha256 = digest.hexdigest()

    def write_manifest(self, manifest: Manifest) -> None:
        """Write the manifest, after the tables, whose hashes it holds."""
        text = msgspec.json.format(_encode_json(manifest), indent=2)
        self._archive.writestr(_MANIFEST, text)


class ArchiveReader:
    """Reads a zip that an ``ArchiveWriter`` has made."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        """Read the manifest. Raises InvalidBackup."""
        self._archive = archive
        self._name = name
        with self._report_damage():
            try:
                text = archive.read(_MANIFEST)
            except KeyError:
                raise InvalidBackup(
                    f"{name} is not a jpweb backup: it holds no manifest."
                ) from None
        try:
            if msgspec.json.decode(text, type=_FormatHeader).format > FORMAT_VERSION:
                raise InvalidBackup(f"{name} is of a newer jpweb. Install that, then restore.")
            self.manifest = msgspec.json.decode(text, type=Manifest)
        except msgspec.MsgspecError as error:
            raise InvalidBackup(f"{name} has a damaged manifest: {error}.") from error

    def check_hashes(self) -> None:
        """Raise InvalidBackup where a table's hash differs from the manifest's."""
        for table in self.manifest.tables:
            digest = hashlib.sha256()
            with self._report_damage():
                for line in self._read_lines(table):
                    digest.update(line)
            if digest.hexdigest() != table.sha256:
                raise InvalidBackup(
                    f"{self._name} is damaged: {table.name} is not as it was written."
                )

    def read_rows(self, table: BackupTable) -> Iterator[list[Any]]:
        """Yield the rows of a table. Raises InvalidBackup."""
        with self._report_damage():
            for line in self._read_lines(table):
                row = _ROW_DECODER.decode(line)
                if len(row) != len(table.columns):
                    raise InvalidBackup(f"{self._name} is damaged: a row of {table.name}.")
                yield row

    def _read_lines(self, table: BackupTable) -> Iterator[bytes]:
        try:
            member = self._archive.open(_name_member(table))
        except KeyError:
            raise InvalidBackup(f"{self._name} is damaged: {table.name} is missing.") from None
        with member:
            yield from member

    @contextmanager
    def _report_damage(self) -> Iterator[None]:
        """Raise InvalidBackup for damage of the zip or of a line."""
        try:
            yield
        except (*_DAMAGE_ERRORS, msgspec.MsgspecError) as error:
            raise InvalidBackup(f"{self._name} is damaged: {error}.") from error
        except OSError as error:  # of a disk, or of an offset before the file's begin
            raise InvalidBackup(
                f"{self._name} is damaged or cannot be read: {error.strerror}."
            ) from error


@contextmanager
def create_archive(path: Path) -> Iterator[ArchiveWriter]:
    """Create a backup file atomically, readable by its owner alone.

    Raises InvalidBackup where it cannot be written.
    """
    try:
        with create_unfinished(path) as (handle, temporary):
            with (
                os.fdopen(handle, "wb") as file,
                zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive,
            ):
                yield ArchiveWriter(archive)
            with temporary.open("rb") as temporary_file:
                os.fsync(temporary_file.fileno())
            temporary.replace(path)
    except OSError as error:
        raise InvalidBackup(f"{path} cannot be written: {error.strerror}.") from error


@contextmanager
def open_archive(path: Path) -> Iterator[ArchiveReader]:
    """Open a backup file. Raises InvalidBackup where it is unreadable or no backup."""
    try:
        archive = zipfile.ZipFile(path)
    except OSError as error:
        raise InvalidBackup(f"{path} cannot be read: {error.strerror}.") from error
    except zipfile.BadZipFile:
        raise InvalidBackup(f"{path} is not a jpweb backup.") from None
    except _DAMAGE_ERRORS as error:
        raise InvalidBackup(f"{path} is damaged: {error}.") from error
    with archive:
        yield ArchiveReader(archive, str(path))


class _FormatHeader(msgspec.Struct):
    format: int


def _name_member(table: BackupTable) -> str:
    return f"tables/{table.name}.jsonl"

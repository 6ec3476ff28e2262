"""The zip of a bundle: it has no byte that verification leaves out and another program shows."""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import pytest

from jpweb.evidence import bundle_files
from jpweb.evidence.bundle_files import InvalidBundle, open_bundle
from jpweb.runtime.evidence.zip_stream import ZipStream

CONTENTS = {"manifest.json": b"{}", "a/events.jsonl": b"line\n" * 100, "empty.txt": b""}


def write_stream(contents: dict[str, bytes]) -> bytes:
    """Return a zip as exports write it: lengths stand behind the data."""
    stream = ZipStream()
    for name, data in contents.items():
        for _ in stream.write_file(name, [data]):
            pass
    stream.close()
    return stream.take_bytes()


def write_file(contents: dict[str, bytes], extra: bytes = b"", comment: bytes = b"") -> bytes:
    """Return a zip with lengths before the data, with bytes of the first file's directory entry."""
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
        first = archive.infolist()[0]
        first.extra, first.comment = extra, comment
    return file.getvalue()


def read_names(data: bytes) -> list[str]:
    with open_bundle(BytesIO(data)) as bundle:
        for name, content in CONTENTS.items():
            if name in bundle.names:
                assert bundle.read_bytes(name) == content
        return bundle.names


@pytest.mark.parametrize("write", [write_stream, write_file])
def test_zip_of_files_alone_is_read(write: Callable[[dict[str, bytes]], bytes]):
    assert read_names(write(CONTENTS)) == sorted(CONTENTS)


def test_zip_with_great_offsets_is_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 3000)
    monkeypatch.setattr(bundle_files, "_MAX_ZIP32_OFFSET", 3000)
    contents = {f"{number}.bin": os.urandom(1000) for number in range(10)}
    assert read_names(write_stream(contents)) == sorted(contents)


def find_directory(data: bytes) -> int:
    return data.index(b"PK\x01\x02")


def move_directory(data: bytes, position: int, inserted: bytes) -> bytes:
    """Return a zip with bytes at a position before its directory, whose end names its place."""
    changed = bytearray(data[:position] + inserted + data[position:])
    offset = find_directory(data) + len(inserted)
    changed[-6:-2] = struct.pack("<L", offset)
    return bytes(changed)


def prefix_bytes(data: bytes) -> bytes:
    return b"#!/bin/sh\n" + data


def insert_orphan(data: bytes) -> bytes:
    """Put a file before the directory, which does not list it."""
    orphan = write_stream({"orphan.txt": b"Something else"})
    return move_directory(data, find_directory(data), orphan[: find_directory(orphan)])


def append_bytes(data: bytes) -> bytes:
    return data + b"more"


def comment_archive(data: bytes) -> bytes:
    return data[:-2] + struct.pack("<H", 4) + b"more"


def change_header(position: int, value: bytes) -> Callable[[bytes], bytes]:
    def change(data: bytes) -> bytes:
        return data[:position] + value + data[position + len(value) :]

    return change


def change_descriptor(data: bytes) -> bytes:
    position = data.index(b"PK\x07\x08") + 4
    return change_header(position, b"crc!")(data)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (prefix_bytes, "bytes at it that belong to no file"),
        (insert_orphan, "bytes that belong to no file"),
        (append_bytes, "bytes that belong to no file"),
        (comment_archive, "bytes that belong to no file"),
        (change_header(8, b"\0\0"), "the file's own header differ"),
        (change_header(14, b"crc!"), "the file's own header differ"),
        (change_descriptor, "the file's own header differ"),
    ],
    ids=["prefix", "orphan", "suffix", "comment", "compression", "sum", "descriptor"],
)
def test_byte_that_belongs_to_no_file_is_damage(damage: Callable[[bytes], bytes], problem: str):
    with pytest.raises(InvalidBundle, match=problem):
        read_names(damage(write_stream(CONTENTS)))


@pytest.mark.parametrize(
    ("extra", "comment"),
    [
        (struct.pack("<HHBL", 0x7075, 10, 1, 0) + b"other", b""),
        (struct.pack("<HHQ", 1, 8, 7), b""),
        (b"", b"more"),
    ],
    ids=["other name", "needless offset", "comment"],
)
def test_additional_field_or_comment_of_a_file_is_damage(extra: bytes, comment: bytes):
    with pytest.raises(InvalidBundle, match="bytes at it that belong to no file"):
        read_names(write_file(CONTENTS, extra, comment))


def test_bundle_with_two_files_at_the_same_bytes_is_damaged():
    data = write_file({"a.txt": b"x", "b.txt": b"x"})
    position = data.rindex(b"PK\x01\x02") + 42
    with pytest.raises(InvalidBundle, match="belong to no file"):
        read_names(change_header(position, bytes(4))(data))


@pytest.mark.parametrize("position", [0, 40, 80], ids=["header", "content", "next file"])
def test_bundle_in_which_bytes_are_missing_is_named_so(position: int):
    data = write_stream(CONTENTS)
    with pytest.raises(InvalidBundle, match=r"^the bundle: bytes are missing in it$"):
        read_names(data[:position] + data[position + 5 :])


def test_bundle_with_an_unfinished_reader_is_closed_at_its_end(tmp_path: Path):
    path = tmp_path / "bundle.zip"
    path.write_bytes(write_stream({"lines.jsonl": b"{}\n" * 2}))
    with open_bundle(path) as bundle:
        lines = bundle.iter_objects("lines.jsonl")
        assert next(lines) == {}
        assert is_open(path)
    assert not is_open(path)


def is_open(path: Path) -> bool:
    """Tell whether this process has a file open."""
    for name in os.listdir("/dev/fd"):  # noqa: PTH208  names alone: listing opens one itself
        with suppress(OSError):
            if os.path.samestat(os.fstat(int(name)), path.stat()):
                return True
    return False

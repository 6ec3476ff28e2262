"""A backup's file: what damage of its zip becomes."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest

from jpweb.store.backups.archive import BackupTable, Manifest, create_archive, open_archive
from jpweb.store.errors import InvalidBackup
from tests.machine.sizes import choose_size

_DIRECTORY_ENTRY_MARK = b"PK\x01\x02"
#: Offsets in an entry of the zip's directory: the version to extract it with, and its flags.
_VERSION_OFFSET, _FLAGS_OFFSET = 6, 8


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    path = tmp_path / "jpweb.backup"
    table = BackupTable("store_turn", ["number", "text"])
    noise = random.Random(1)  # noqa: S311  the same rows each time
    rows = [[number, noise.randbytes(40).hex()] for number in range(200)]
    with create_archive(path) as writer:
        writer.write_table(table, rows)
        writer.write_manifest(Manifest("1", "sqlite", "2026-11-30", "0001", [table]))
    return path


def read_all(path: Path) -> None:
    with open_archive(path) as archive:
        archive.check_hashes()
        for table in archive.manifest.tables:
            assert len(list(archive.read_rows(table))) == table.rows


def set_directory_byte(path: Path, offset: int, value: int) -> None:
    content = bytearray(path.read_bytes())
    content[content.rindex(_DIRECTORY_ENTRY_MARK) + offset] = value
    path.write_bytes(content)


@pytest.mark.parametrize("cut_bytes", [1, 100, 4000])
def test_backup_whose_middle_was_cut_out_is_damaged(backup: Path, cut_bytes: int):
    content = backup.read_bytes()
    backup.write_bytes(content[:1000] + content[1000 + cut_bytes :])
    with pytest.raises(InvalidBackup, match="is damaged"):
        read_all(backup)


def test_backup_of_an_unknown_version_of_zip_is_damaged(backup: Path):
    set_directory_byte(backup, _VERSION_OFFSET, 255)
    with pytest.raises(InvalidBackup, match=r"is damaged: zip file version 25\.5"):
        read_all(backup)


def test_backup_whose_member_seems_encrypted_is_damaged(backup: Path):
    set_directory_byte(backup, _FLAGS_OFFSET, 1)
    with pytest.raises(InvalidBackup, match=r"is damaged: .* is encrypted"):
        read_all(backup)


def test_damage_anywhere_raises_nothing_but_invalid_backup(backup: Path):
    content = backup.read_bytes()
    noise = random.Random(2)  # noqa: S311  the same damage each time
    read_all(backup)
    for _ in range(choose_size(300, 3000)):
        start = noise.randrange(len(content))
        replaced_bytes = noise.choice([0, 1, 1, 2, 50, 3000])
        insertion = noise.randbytes(noise.choice([0, 1, 1, 2, 40]))
        backup.write_bytes(content[:start] + insertion + content[start + replaced_bytes :])
        with suppress(InvalidBackup):
            read_all(backup)

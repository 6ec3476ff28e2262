"""A conversation's files in a workspace, written as jp writes them."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jpweb.store.jp_files import locks, writer
from jpweb.store.jp_files.writer import (
    SMALLEST_BASE_CONFIG,
    ConversationFiles,
    FilesChanged,
    UnwritableMetadata,
    make_folder_name,
    merge_metadata,
)
from tests.store.jp_files.writing.disk import (
    AT,
    EMPTY,
    FOLDER,
    FOREIGN,
    LONG,
    NEW,
    OLD,
    RENAMED,
    SHORT,
    WriterDisk,
    read_files,
)
from tests.store.jp_files.writing.killed import DS
from tests.store.making import read_tree

REAL = Path(__file__).parents[3].parent / "shared/workspace/.jp/conversations"


@pytest.fixture
def disk(tmp_path: Path) -> WriterDisk:
    return WriterDisk(tmp_path / "disk")


def check_refusal(disk: WriterDisk, error: type[Exception], match: str, **call: Any) -> None:
    """Check that the call is refused and that nothing on disk has changed."""
    for home in disk.homes:
        (home.parent / "locks").mkdir(exist_ok=True)
    before = {k: v for k, v in read_tree(disk.root).items() if not k.endswith("locks")}
    with pytest.raises(error, match=match):
        disk.write(**call)
    assert {k: v for k, v in read_tree(disk.root).items() if not k.endswith("locks")} == before


def test_a_new_conversation_is_written_into_both_homes(disk):
    result = disk.write(SHORT)
    assert result.folders == (disk.silo / FOLDER, disk.project / FOLDER)
    about = f'{{\n  "title": "{OLD}",\n  "last_activated_at": "{AT}"\n}}\n'.encode()
    files = {"metadata.json": about, "base_config.json": SMALLEST_BASE_CONFIG, "events.json": SHORT}
    assert disk.holds() == {
        f"{home}/conversations/{FOLDER}/{name}": data
        for home in ("silo", "project/.jp")
        for name, data in files.items()
    }
    assert set(result.changed) == {folder / name for folder in result.folders for name in files}


def test_a_given_base_config_is_used_once_and_never_again(disk):
    disk.write(base_config=b'{"a": 1}\n')
    disk.write(LONG, SHORT, base_config=b'{"b": 2}\n')
    for home in disk.homes:
        assert (home / FOLDER / "base_config.json").read_bytes() == b'{"a": 1}\n'
        assert (home / FOLDER / "events.json").read_bytes() == LONG


def test_a_conversation_in_the_legacy_layout_gets_no_base_config(disk):
    disk.write()
    for home in disk.homes:
        (home / FOLDER / "base_config.json").unlink()
    disk.write(LONG, SHORT)
    assert not list(disk.root.rglob("base_config.json"))
    disk.write(LONG, LONG, base_config=b"{}\n")
    assert len(list(disk.root.rglob("base_config.json"))) == 2


def test_equal_bytes_are_not_written_again(disk):
    disk.write()
    before = read_tree(disk.silo / FOLDER)
    assert disk.write(SHORT, SHORT).changed == ()
    assert read_tree(disk.silo / FOLDER) == before
    assert disk.write(LONG, SHORT).changed == tuple(h / FOLDER / "events.json" for h in disk.homes)
    assert read_tree(disk.silo / FOLDER)["metadata.json"] == before["metadata.json"]


def test_new_title_renames_the_folder_and_keeps_other_files(disk):
    disk.write()
    (disk.silo / FOLDER / "QUERY_MESSAGE.md").write_text("half a thought")
    result = disk.write(LONG, SHORT, NEW)
    assert result.folders == (disk.silo / RENAMED, disk.project / RENAMED)
    assert [path.name for path in disk.silo.iterdir()] == [RENAMED]
    assert (disk.silo / RENAMED / "QUERY_MESSAGE.md").read_text() == "half a thought"


def test_a_name_that_jp_spells_otherwise_stays_while_the_title_does(disk):
    disk.write()
    other_folder = disk.project / f"{DS}-as-rust-would"
    (disk.project / FOLDER).rename(other_folder)
    assert disk.write(LONG, SHORT).folders[1] == other_folder


def test_write_keeps_metadata_keys_that_jp_added(disk):
    disk.write(pinned_at="2026-01-02T03:04:05.10+02:00", labels={"b": "", "a": "x"})
    path = disk.silo / FOLDER / "metadata.json"
    path.write_text(json.dumps({"later": [1e16, None]} | json.loads(path.read_text())))
    disk.write(LONG, SHORT, last_activated_at=datetime(2026, 2, 3, tzinfo=UTC))
    assert list(disk.metadata().items()) == [
        ("title", OLD),
        ("last_activated_at", "2026-02-03 00:00:00.0"),
        ("pinned_at", "2026-01-02 01:04:05.1"),
        ("labels", {"a": "x", "b": ""}),
        ("later", [1e16, None]),
    ]
    disk.write(LONG, LONG, title=None, pinned_at=None, labels={})
    assert list(disk.metadata()) == ["last_activated_at", "later"]
    assert disk.write(LONG, LONG, title=None).folders[0].name == str(DS)


def test_the_newer_metadata_is_the_one_that_is_kept(disk):
    disk.write()
    path = disk.project / FOLDER / "metadata.json"
    path.write_text(json.dumps({"title": OLD, "last_activated_at": AT, "expires_at": AT}))
    disk.write(LONG, SHORT)
    assert disk.metadata()["expires_at"] == AT


def test_metadata_is_written_as_jp_writes_it_from_real_files():
    paths = sorted(REAL.glob("*/metadata.json"))
    if not paths:
        pytest.skip("the real workspace is not beside this project")
    for path in paths:
        assert merge_metadata(path.read_bytes(), {}) == path.read_bytes()


@pytest.mark.parametrize(
    ("existing", "changes", "problem"),
    [
        (None, {}, "needs “last_activated_at”"),
        (None, {"last_activated_at": None}, "needs “last_activated_at”"),
        (None, {"last_activated_at": "2026-01-02T03:04:05"}, "cannot be read as a time"),
        (None, {"last_activated_at": AT, "pinned_at": 3}, "“pinned_at” cannot be read as a time"),
        (None, {"last_activated_at": AT, "title": "\ud800"}, "cannot be written"),
        (None, {"last_activated_at": AT, "labels": {"a": float("nan")}}, "cannot be written"),
        (b"{", {}, "on disk cannot be read"),
        (b'{"a": NaN}', {}, "NaN is not allowed"),
        (b"[" * 100_000, {}, "on disk cannot be read"),
        (b"\xff", {}, "on disk cannot be read"),
        (b"[]", {}, "is not an object"),
    ],
)
def test_metadata_that_jp_could_not_read_is_refused(existing, changes, problem):
    with pytest.raises(UnwritableMetadata, match=problem):
        merge_metadata(existing, changes)


def test_unreadable_metadata_on_disk_is_not_overwritten(disk):
    disk.write()
    for home in disk.homes:
        (home / FOLDER / "metadata.json").write_bytes(b"")
    check_refusal(disk, UnwritableMetadata, "on disk cannot be read", events=LONG, expected=SHORT)


@pytest.mark.parametrize("content", [FOREIGN, EMPTY, b"", LONG.replace(b"Hello.", b"Hullo."), None])
@pytest.mark.parametrize("expected", [SHORT, None])
def test_write_refuses_files_changed_meanwhile_and_writes_nothing(disk, content, expected):
    disk.write()
    for home in disk.homes:
        path = home / FOLDER / "events.json"
        path.unlink() if content is None else path.write_bytes(content)
    call: dict[str, Any] = {"events": LONG, "expected": expected, "title": NEW}
    check_refusal(disk, FilesChanged, "changed meanwhile, and not by jpweb", **call)


@pytest.mark.parametrize("partial_events", [EMPTY, SHORT, LONG])
def test_write_completes_files_of_an_interrupted_write(disk, partial_events):
    disk.write(partial_events)
    for expected in (None, EMPTY) if partial_events == EMPTY else (None, EMPTY, SHORT):
        disk.write(LONG, expected)
        assert (disk.silo / FOLDER / "events.json").read_bytes() == LONG
        for home in disk.homes:
            (home / FOLDER / "events.json").write_bytes(partial_events)


def test_is_extension_refuses_an_array_that_only_begins_alike():
    assert not writer._is_extension(b'[\n  "a"\n]\n', b'[\n  "a" ,\n  "b"\n]\n')
    assert not writer._is_extension(b"[\n  1\n]\n", b"[\n  12\n]\n")
    assert not writer._is_extension(b"[1]", b"[1]\n")


def test_the_copy_that_jp_reads_is_the_one_that_must_be_known(disk):
    disk.write()
    stale = disk.project / FOLDER / "events.json"
    stale.write_bytes(FOREIGN)
    check_refusal(disk, FilesChanged, "project", events=LONG, expected=SHORT)
    os.utime(stale, ns=(1, 1))
    os.utime(stale.with_name("base_config.json"), ns=(1, 1))
    disk.write(LONG, SHORT)
    assert stale.read_bytes() == LONG


def test_broken_metadata_that_jp_does_not_read_is_replaced(disk):
    disk.write()
    broken = disk.silo / FOLDER / "metadata.json"
    broken.write_bytes(b"{")
    os.utime(broken, ns=(1, 1))
    disk.write(LONG, SHORT)
    assert read_files(disk.silo) == read_files(disk.project)


def test_write_does_not_recreate_a_removed_conversation(disk):
    check_refusal(disk, FilesChanged, "removed", events=LONG, expected=SHORT)


@pytest.mark.parametrize("expected", [SHORT, None])
def test_an_archived_conversation_stays_archived(disk, expected):
    disk.write()
    for home in disk.homes:
        (home / ".archive").mkdir()
        (home / FOLDER).rename(home / ".archive" / FOLDER)
    assert writer.has_conversation(disk.homes, DS)
    check_refusal(disk, FilesChanged, "archived", events=LONG, expected=expected)


def test_has_conversation_compares_the_complete_id(disk):
    assert not writer.has_conversation(disk.homes, DS)
    disk.write()
    assert writer.has_conversation(disk.homes, DS)
    assert not writer.has_conversation(disk.homes, DS // 10)


def test_write_keeps_a_silo_only_conversation_out_of_the_workspace(disk):
    disk.write(homes=[disk.silo])
    assert disk.write(LONG, SHORT).folders == (disk.silo / FOLDER,)
    assert not disk.project.exists()


def test_write_copies_a_workspace_only_folder_into_the_silo(disk):
    disk.write(homes=[disk.project], base_config=b'{"a": 1}\n')
    (disk.project / FOLDER).rename(disk.project / f"{DS}-rusty")
    (disk.project / f"{DS}-rusty/QUERY_MESSAGE.md").write_text("half a thought")
    (disk.project / f"{DS}-rusty/events.json.tmp").write_text("[")
    assert [folder.name for folder in disk.write(LONG, SHORT).folders] == [f"{DS}-rusty"] * 2
    silo_files = read_files(disk.silo)
    assert silo_files == read_files(disk.project)
    assert silo_files[f"{DS}-rusty/base_config.json"] == b'{"a": 1}\n'
    assert len(silo_files) == 4


def test_new_conversation_that_one_place_has_in_part_is_completed_there(disk):
    disk.write(homes=[disk.silo])
    disk.write(LONG, title=NEW)
    assert read_files(disk.silo) == read_files(disk.project)
    assert [path.name for path in disk.project.iterdir()] == [RENAMED]


def test_write_moves_a_second_folder_of_the_conversation_to_trash(disk):
    for _ in range(2):
        disk.write(homes=[disk.silo])
        twin = disk.silo / f"{DS}-twin"
        twin.mkdir()
        (twin / "events.json").write_bytes(SHORT)
        (twin / "notes.txt").write_text("mine")
        os.utime(twin / "events.json", ns=(1, 1))
        disk.write(SHORT, SHORT, homes=[disk.silo])
    trash = disk.silo / ".trash"
    assert sorted(path.name for path in trash.iterdir()) == [f"{DS}-twin", f"{DS}-twin-1"]
    assert (trash / f"{DS}-twin/notes.txt").read_text() == "mine"
    assert "another one held" in (trash / f"{DS}-twin/TRASHED.md").read_text()
    assert (disk.silo / FOLDER).is_dir()


def test_a_second_folder_with_other_events_is_refused(disk):
    disk.write()
    twin = disk.project / f"{DS}-twin"
    twin.mkdir()
    (twin / "events.json").write_bytes(FOREIGN)
    os.utime(twin / "events.json", ns=(1, 1))
    check_refusal(disk, FilesChanged, "twin", events=LONG, expected=SHORT)


@pytest.mark.parametrize("deletions", [1, 2])
def test_a_jp_that_starts_and_deletes_our_temporary_file_costs_one_retry(
    disk, monkeypatch, deletions
):
    disk.write()
    deletions_left = [deletions]
    replace = os.replace

    def racing(name: str, target: str, **handles: int) -> None:
        if deletions_left[0] and name.endswith(".tmp"):
            deletions_left[0] -= 1
            os.unlink(name, dir_fd=handles["src_dir_fd"])
        replace(name, target, **handles)

    monkeypatch.setattr(os, "replace", racing)
    if deletions == 1:
        disk.write(LONG, SHORT)
        assert (disk.silo / FOLDER / "events.json").read_bytes() == LONG
    else:
        with pytest.raises(FileNotFoundError):
            disk.write(LONG, SHORT)
    assert not list(disk.root.rglob("*.tmp"))


def test_a_planted_temporary_file_is_not_followed(disk, tmp_path):
    disk.write()
    (tmp_path / "precious").write_text("precious")
    (disk.project / FOLDER / "events.json.tmp").symlink_to(tmp_path / "precious")
    disk.write(LONG, SHORT)
    assert (tmp_path / "precious").read_text() == "precious"
    assert not list(disk.root.rglob("*.tmp"))


def test_a_lock_that_was_lost_stops_the_writing(disk):
    disk.write()
    with locks.hold_lock(disk.silo.parent, disk.project.parent, DS) as lock:
        lock.path.unlink()
        with (
            locks.hold_lock(disk.silo.parent, disk.project.parent, DS),
            pytest.raises(locks.LockHeld),
        ):
            writer.write_conversation(lock, disk.homes, ConversationFiles({}, LONG), SHORT)
    assert (disk.silo / FOLDER / "events.json").read_bytes() == SHORT


def test_write_succeeds_where_folders_cannot_be_synced(disk, monkeypatch):
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):  # noqa: PTH112  it is a descriptor's
            raise OSError(22, "Invalid argument")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    assert len(disk.write().folders) == 2


def test_make_folder_name_of_real_titles_equals_the_folder_names():
    folders = sorted(path for path in REAL.glob("*") if path.is_dir())
    if not folders:
        pytest.skip("the real workspace is not beside this project")
    for folder in folders:
        about = json.loads((folder / "metadata.json").read_bytes())
        assert make_folder_name(int(folder.name.partition("-")[0]), about["title"]) == folder.name
    assert len(folders) == 11


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        (None, ""),
        ("", ""),
        ("?!… --", ""),
        ("  Two  words ", "-two--words"),
        ("-x", "--x"),
        ("Grüße, Welt", "-grüße--welt"),
        ("a" * 60, "-" + "a" * 60),
        ("a" * 61, ""),
        ("word " * 12, "-word" * 12),
        ("word " * 13, "-word" * 11),
        ("ab " * 19 + "abcd", "-ab" * 19),
        ("ä" * 31, ""),
        ("ä" * 20 + " " + "ö" * 20, "-" + "ä" * 20),
        ("日本語の" * 5 + "会話", ""),
        ("\x1cx", "--x"),
        ("\u3000x\xa0", "-x"),
        ("İx", "-i\u0307x"),
    ],
)
def test_a_folder_is_named_for_its_title(title, slug):
    assert make_folder_name(DS, title) == f"{DS}{slug}"

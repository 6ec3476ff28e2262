"""Directory handles: no link, no special file and nothing too large is opened."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from jpweb.store.jp_files import directory_handles
from jpweb.store.jp_files.directory_handles import Directory, EntryRefused, TooManyEntries

LINK = "it is a symbolic link"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "inside").mkdir(parents=True)
    (tmp_path / "root" / "inside" / "file").write_bytes(b"data")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_bytes(b"secret")
    return tmp_path / "root"


def list_descriptors(root: Path) -> list[Path]:
    """Return what descriptors of the process are open on: the root, what is below and above it.

    Those of other tests, such as a connection that is yet to be collected, may go at any time.
    """
    targets = []
    for descriptor in os.listdir("/proc/self/fd"):  # noqa: PTH208  no path of a test
        with suppress(FileNotFoundError):  # it was closed meanwhile
            targets.append(Path(f"/proc/self/fd/{descriptor}").readlink())
    top = root.parent
    return sorted(t for t in targets if t.is_relative_to(top) or top.is_relative_to(t))


OPERATIONS: dict[str, Callable[[Path], Any]] = {
    "read": lambda path: directory_handles.read_file(path, 100),
    "open": lambda path: directory_handles.open_file(path, os.O_RDWR | os.O_CREAT),
    "write": lambda path: directory_handles.write_file(path.with_name("new"), b"x"),
    "make": lambda path: directory_handles.make_directory(path.with_name("new")),
    "rename": lambda path: directory_handles.rename_entry(path, path.with_name("new")),
    "remove": directory_handles.remove_file,
    "remove tree": directory_handles.remove_tree,
    "list": lambda path: directory_handles.list_entries(path.parent),
    "sync": lambda path: directory_handles.sync_directory(path.parent),
    "copy": lambda path: directory_handles.copy_tree(path.parent, path.parent / "copy", bool),
    "look": directory_handles.stat_path,
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operations_refuse_a_link_on_the_way(root: Path, operation: str):
    (root / "linked").symlink_to(root.parent / "outside")
    before = list_descriptors(root)
    with pytest.raises(EntryRefused, match=LINK) as error:
        OPERATIONS[operation](root / "linked" / "file")
    assert error.value.filename == str(root / "linked")
    assert list_descriptors(root) == before
    assert [path.name for path in (root.parent / "outside").iterdir()] == ["file"]


@pytest.mark.parametrize("target", ["../outside/file", "inside/file", "nowhere", "file"])
def test_read_refuses_a_linked_file(root: Path, target: str):
    (root / "file").symlink_to(target)
    with pytest.raises(EntryRefused, match=LINK):
        directory_handles.read_file(root / "file", 100)
    with pytest.raises(EntryRefused, match=LINK):
        directory_handles.open_file(root / "file", os.O_RDWR | os.O_CREAT)
    assert not (root / "nowhere").exists()


def test_open_refuses_a_link_created_after_the_check(root: Path, monkeypatch: pytest.MonkeyPatch):
    def swap(self: Directory, name: str) -> None:
        (root / name).unlink(missing_ok=True)
        (root / name).symlink_to("../outside/file")

    monkeypatch.setattr(Directory, "stat", swap)
    with pytest.raises(EntryRefused, match=LINK):
        directory_handles.read_file(root / "file", 100)


def test_open_refuses_a_fifo_created_after_the_check(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Directory, "stat", lambda self, name: os.mkfifo(root / name))
    before = list_descriptors(root)
    with pytest.raises(EntryRefused, match="not a regular file"):
        directory_handles.read_file(root / "file", 100)
    assert list_descriptors(root) == before


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\0b"])
def test_entries_are_named_by_one_component(root: Path, name: str):
    with Directory.open_at(root) as place, pytest.raises(OSError, match=r"name|directory"):
        place.read_file(name, 100)
    with pytest.raises(EntryRefused, match="not an absolute path"):
        Directory.open_at(Path("relative"))
    with pytest.raises(EntryRefused, match="not an absolute path without"):
        Directory.open_at(root / ".." / "outside")


def test_read_is_bounded(root: Path):
    path = root / "inside" / "file"
    assert directory_handles.read_file(path, 4) == b"data"
    with pytest.raises(EntryRefused, match="it is larger than 0 KiB"):
        directory_handles.read_file(path, 3)


def test_read_is_bounded_where_a_file_grows_meanwhile(root: Path, monkeypatch: pytest.MonkeyPatch):
    path = root / "inside" / "file"
    check = directory_handles._require_regular

    def grow(file_stat: os.stat_result) -> None:
        check(file_stat)
        with path.open("ab") as file:
            file.write(b"+")

    monkeypatch.setattr(directory_handles, "_require_regular", grow)
    assert directory_handles.read_file(path, 6) == b"data++"
    with pytest.raises(EntryRefused, match="larger"):
        directory_handles.read_file(path, 7)


def test_write_refuses_a_file_with_a_second_name(root: Path):
    os.link(root.parent / "outside" / "file", root / "lock")
    with pytest.raises(EntryRefused, match="second name"):
        directory_handles.open_file(root / "lock", os.O_RDWR | os.O_CREAT)
    assert directory_handles.read_file(root / "lock", 100) == b"secret"


def test_list_is_bounded_and_in_order(root: Path):
    for name in "cab":
        (root / name).touch()
    listed = [entry.name for entry in directory_handles.list_entries(root)]
    assert listed == ["a", "b", "c", "inside"]
    with pytest.raises(TooManyEntries, match="more than 3 entries"):
        directory_handles.list_entries(root, 3)


def test_stat_path_of_a_missing_file_returns_none(root: Path):
    assert directory_handles.stat_path(root / "none" / "deeper") is None
    assert directory_handles.stat_path(root / "inside" / "file" / "deeper") is None
    assert not directory_handles.is_directory(root / "inside" / "file")
    directory_handles.remove_file(root / "none")
    with Directory.open_at(root) as place:
        assert place.read_link("inside") is None


def test_copy_takes_wanted_regular_files_alone(root: Path):
    source = root / "inside"
    (source / "deep").mkdir()
    (source / "deep" / "file").write_bytes(b"deep")
    os.utime(source / "deep" / "file", ns=(1, 2))
    (source / "left.tmp").touch()
    (source / "link").symlink_to("../../outside/file")
    (source / "folder").symlink_to("../../outside")
    os.mkfifo(source / "fifo")
    directory_handles.copy_tree(source, root / "copy", lambda name: not name.endswith(".tmp"))
    copied_paths = sorted(
        str(path.relative_to(root / "copy")) for path in (root / "copy").rglob("*")
    )
    assert copied_paths == ["deep", "deep/file", "file"]
    assert (root / "copy" / "deep" / "file").stat().st_mtime_ns == 2


@pytest.mark.parametrize(("limit", "value"), [("MAX_COPIED_FILES", 0), ("MAX_COPIED_BYTES", 3)])
def test_copy_is_bounded(root: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int):
    monkeypatch.setattr(directory_handles, limit, value)
    with pytest.raises(EntryRefused, match="too many or too large"):
        directory_handles.copy_tree(root / "inside", root / "copy", bool)


def test_remove_tree_keeps_the_targets_of_links(root: Path):
    (root / "inside" / "link").symlink_to("../../outside")
    (root / "linked").symlink_to("../outside")
    directory_handles.remove_tree(root / "inside")
    directory_handles.remove_tree(root / "linked")
    assert list(root.iterdir()) == []
    assert (root.parent / "outside" / "file").read_bytes() == b"secret"


def test_handles_are_of_one_thread_each(root: Path):
    """Two threads that walk at once do not meet: nothing changes the working directory."""
    failures: list[BaseException] = []

    def walk() -> None:
        try:
            for _ in range(50):
                directory_handles.read_file(root / "inside" / "file", 100)
        except OSError as error:  # pragma: no cover  only where the test fails
            failures.append(error)

    threads = [threading.Thread(target=walk) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []

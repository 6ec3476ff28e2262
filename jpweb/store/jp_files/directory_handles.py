"""Directory handles: every access to a workspace's files and their user-local copies.

Any writer of a workspace may put a link, a FIFO or a device where jp has a file. So a
path is walked from ``/``, one component at a time and without following links (openat
with O_NOFOLLOW), and its last component is used relative to the handle of its
directory. Only regular files are opened, without waiting, and only up to a size. The
path that an operator names is resolved once, by ``installation.resolve_path``;
beneath it no link counts.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from jpweb import data_folder

MIB = 1024 * 1024
#: Entries of one directory at most.
MAX_ENTRIES = 200_000
#: Files, levels and bytes of a conversation's folder that ``copy_tree`` copies into the silo.
MAX_COPIED_FILES, MAX_COPIED_LEVELS, MAX_COPIED_BYTES = 1000, 8, 512 * MIB

_SYMLINK_TEXT = "it is a symbolic link, and jpweb follows none"
_SEARCH_FLAGS = os.O_DIRECTORY | os.O_NOFOLLOW | getattr(os, "O_PATH", os.O_RDONLY)
_LIST_FLAGS = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_RDONLY
_FILE_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class EntryRefused(OSError):
    """The entry is a link, no regular file, or too large; ``strerror`` says which."""


class TooManyEntries(EntryRefused):
    """The directory has more entries than the limit."""


class Directory:
    """An open directory. Its methods take names of its entries, and follow no link."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def open_at(cls, path: Path) -> Self:
        """Open the directory at an absolute path. Raises EntryRefused for a link on it, OSError."""
        if not path.is_absolute() or ".." in path.parts:
            raise EntryRefused(errno.EINVAL, "it is not an absolute path without “..”", str(path))
        descriptor = os.open(path.anchor, _SEARCH_FLAGS)
        for depth, name in enumerate(path.parts[1:], 2):
            parent = descriptor
            try:
                descriptor = os.open(name, _SEARCH_FLAGS, dir_fd=parent)
            except OSError as error:
                subpath = str(Path(*path.parts[:depth]))
                raise _explain_error(error, name, parent, subpath) from error
            finally:
                os.close(parent)
        return cls(descriptor, path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        os.close(self._descriptor)

    def open_subdirectory(self, name: str) -> Self:
        """Open a directory inside. Raises EntryRefused for a link, OSError."""
        with self._check_entry_name(name):
            try:
                descriptor = os.open(name, _SEARCH_FLAGS, dir_fd=self._descriptor)
            except OSError as error:
                raise _explain_error(error, name, self._descriptor, name) from error
        return type(self)(descriptor, self.path / name)

    def list_entries(self, limit: int = MAX_ENTRIES) -> list[os.DirEntry[str]]:
        """Return the entries by name. Raises TooManyEntries, OSError."""
        entries: list[os.DirEntry[str]] = []
        with self._check_entry_name(""):
            descriptor = os.open(".", _LIST_FLAGS, dir_fd=self._descriptor)
            try:
                with os.scandir(descriptor) as iterator:
                    for entry in iterator:
                        entries.append(entry)
                        if len(entries) > limit:
                            raise TooManyEntries(errno.EFBIG, f"it has more than {limit:,} entries")
                # DirEntry calls stat while the descriptor is open, where readdir gave no d_type.
                entries = [entry for entry in entries if _remember_kind(entry)]
            finally:
                os.close(descriptor)
        return sorted(entries, key=lambda entry: entry.name)

    def stat(self, name: str) -> os.stat_result | None:
        """Return the status of an entry itself, a link as a link; None where there is none."""
        with self._check_entry_name(name):
            try:
                return os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
            except (FileNotFoundError, NotADirectoryError):
                return None

    def read_link(self, name: str) -> str | None:
        """Return the target of a link, without following it; None where no link is."""
        with self._check_entry_name(name):
            return os.readlink(name, dir_fd=self._descriptor) if self._is_link(name) else None

    def read_file(self, name: str, limit: int) -> bytes:
        """Return the bytes of a regular file, up to ``limit``. Raises EntryRefused, OSError."""
        descriptor = self.open_file(name, os.O_RDONLY)
        with os.fdopen(descriptor, "rb", buffering=0) as file, self._check_entry_name(name):
            size = os.fstat(descriptor).st_size
            data = file.read(size + 1) if size <= limit else None
            while data is not None and len(data) <= limit and (chunk := file.read(MIB)):
                data += chunk
            if data is None or len(data) > limit:
                raise EntryRefused(errno.EFBIG, f"it is larger than {_format_size(limit)}")
            return data

    def open_file(self, name: str, flags: int, mode: int = 0o666) -> int:
        """Open a regular file and return its descriptor. Raises EntryRefused, OSError.

        A new one gets ``mode`` under the installation's umask. A file to be written must have
        no hard link: that might be another's file.
        """
        with self._check_entry_name(name):
            existing_status = self.stat(name)
            if existing_status is not None:
                _require_regular(existing_status)
            try:
                descriptor = os.open(name, flags | _FILE_FLAGS, mode, dir_fd=self._descriptor)
            except OSError as error:
                if error.errno == errno.ELOOP:
                    raise EntryRefused(errno.ELOOP, _SYMLINK_TEXT) from error
                raise
            try:
                opened_status = os.fstat(descriptor)
                _require_regular(opened_status)
                if flags & (os.O_WRONLY | os.O_RDWR) and opened_status.st_nlink > 1:
                    raise EntryRefused(errno.EMLINK, "it has a second name (hard link)")
                if existing_status is None:
                    data_folder.share_file(descriptor, mode)
            except OSError:
                os.close(descriptor)
                raise
        return descriptor

    def write_file(self, name: str, data: bytes) -> None:
        """Write a new file, and sync it. Raises FileExistsError, OSError."""
        descriptor = self.open_file(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def make_directory(self, name: str) -> None:
        """Make a directory where there is no entry of this name."""
        with self._check_entry_name(name), suppress(FileExistsError):
            os.mkdir(name, dir_fd=self._descriptor)
            descriptor = os.open(name, _LIST_FLAGS, dir_fd=self._descriptor)
            try:
                data_folder.share_file(descriptor, 0o777)
            finally:
                os.close(descriptor)

    def rename_entry(self, name: str, target: Directory, new_name: str) -> None:
        """Move an entry to another directory or name, replacing a file there."""
        with self._check_entry_name(name), target._check_entry_name(new_name):
            os.replace(name, new_name, src_dir_fd=self._descriptor, dst_dir_fd=target._descriptor)

    def remove_file(self, name: str) -> None:
        """Unlink a file or link. Raises FileNotFoundError, OSError."""
        with self._check_entry_name(name):
            os.unlink(name, dir_fd=self._descriptor)

    def remove_tree(self, name: str) -> None:
        """Remove an entry, with its content where it is a directory.

        ``shutil.rmtree`` opens what a link points to before it refuses it.
        """
        status = self.stat(name)
        if status is None or not stat.S_ISDIR(status.st_mode):
            self.remove_file(name)
            return
        with self.open_subdirectory(name) as subdirectory:
            for entry in subdirectory.list_entries():
                subdirectory.remove_tree(entry.name)
        with self._check_entry_name(name):
            os.rmdir(name, dir_fd=self._descriptor)

    def sync_names(self) -> None:
        """Sync the names to the disk, where the filesystem can."""
        descriptor = os.open(".", _LIST_FLAGS, dir_fd=self._descriptor)
        try:
            with suppress(OSError):  # some filesystems do not sync directories
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _is_link(self, name: str) -> bool:
        status = self.stat(name)
        return status is not None and stat.S_ISLNK(status.st_mode)

    @contextmanager
    def _check_entry_name(self, name: str) -> Iterator[None]:
        """Check an entry's name, and set the full path in errors of the block."""
        path = str(self.path / name)
        if "/" in name or "\0" in name or name in (".", ".."):
            raise EntryRefused(errno.EINVAL, "it is not the name of an entry", path)
        try:
            yield
        except OSError as error:
            error.filename = path
            raise


def stat_path(path: Path) -> os.stat_result | None:
    """Return the status of a path, a link as a link; None where nothing is."""
    with suppress(FileNotFoundError, NotADirectoryError), Directory.open_at(path.parent) as parent:
        return parent.stat(path.name)
    return None


def is_directory(path: Path) -> bool:
    """Tell whether a directory is at a path. Raises EntryRefused for a link on it, OSError."""
    status = stat_path(path)
    return status is not None and stat.S_ISDIR(status.st_mode)


def read_file(path: Path, limit: int) -> bytes:
    """Return the bytes of a regular file. Raises EntryRefused, OSError."""
    with Directory.open_at(path.parent) as parent:
        return parent.read_file(path.name, limit)


def open_file(path: Path, flags: int) -> int:
    """Open a regular file and return its descriptor. Raises EntryRefused, OSError."""
    with Directory.open_at(path.parent) as parent:
        return parent.open_file(path.name, flags)


def write_file(path: Path, data: bytes) -> None:
    """Write a new file, and sync it. Raises FileExistsError, OSError."""
    with Directory.open_at(path.parent) as parent:
        parent.write_file(path.name, data)


def make_directory(path: Path) -> None:
    """Make a directory where nothing is; its parent must exist."""
    with Directory.open_at(path.parent) as parent:
        parent.make_directory(path.name)


def rename_entry(path: Path, target: Path) -> Path:
    """Move an entry to another directory or name; returns that path."""
    with (
        Directory.open_at(path.parent) as parent,
        Directory.open_at(target.parent) as target_directory,
    ):
        parent.rename_entry(path.name, target_directory, target.name)
    return target


def remove_file(path: Path) -> None:
    """Unlink a file or link where there is one."""
    with suppress(FileNotFoundError), Directory.open_at(path.parent) as parent:
        parent.remove_file(path.name)


def remove_tree(path: Path) -> None:
    """Remove an entry, with its content where it is a directory."""
    with Directory.open_at(path.parent) as parent:
        parent.remove_tree(path.name)


def list_entries(path: Path, limit: int = MAX_ENTRIES) -> list[os.DirEntry[str]]:
    """Return the entries of a directory by name. Raises EntryRefused, OSError."""
    with Directory.open_at(path) as directory:
        return directory.list_entries(limit)


def sync_directory(path: Path) -> None:
    """Sync the names of a directory to the disk, where the filesystem can."""
    with Directory.open_at(path) as directory:
        directory.sync_names()


def copy_tree(source: Path, target: Path, is_wanted: Callable[[str], bool]) -> None:
    """Copy a directory's wanted regular files into a new one; other entries are left out.

    Raises EntryRefused where there is too much, OSError.
    """
    make_directory(target)
    with (
        Directory.open_at(source) as source_directory,
        Directory.open_at(target) as target_directory,
    ):
        _copy_entries(
            source_directory,
            target_directory,
            is_wanted,
            [MAX_COPIED_FILES, MAX_COPIED_BYTES],
            MAX_COPIED_LEVELS,
        )


def _copy_entries(
    source: Directory,
    target: Directory,
    is_wanted: Callable[[str], bool],
    budget: list[int],
    depth: int,
) -> None:
    """Copy the wanted files, within the remaining files and bytes of ``budget``."""
    for entry in source.list_entries():
        if entry.is_dir(follow_symlinks=False) and depth:
            target.make_directory(entry.name)
            with (
                source.open_subdirectory(entry.name) as source_child,
                target.open_subdirectory(entry.name) as target_child,
            ):
                _copy_entries(source_child, target_child, is_wanted, budget, depth - 1)
        elif entry.is_file(follow_symlinks=False) and is_wanted(entry.name):
            _copy_file(source, target, entry.name, budget)


def _copy_file(source: Directory, target: Directory, name: str, budget: list[int]) -> None:
    descriptor = source.open_file(name, os.O_RDONLY)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        budget[:] = budget[0] - 1, budget[1] - status.st_size
        if min(budget) < 0:
            raise EntryRefused(errno.EFBIG, "too many or too large files to copy", str(source.path))
        target_descriptor = target.open_file(
            name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, status.st_mode & 0o777
        )
        with os.fdopen(target_descriptor, "wb") as target_file:
            shutil.copyfileobj(file, target_file, MIB)
            target_file.flush()
            os.utime(target_descriptor, ns=(status.st_atime_ns, status.st_mtime_ns))


def _explain_error(error: OSError, name: str, parent: int, path: str) -> OSError:
    """Return the error of an entry that is not a directory; EntryRefused for a link."""
    if error.errno in (errno.ENOTDIR, errno.ELOOP):
        with suppress(OSError):
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                return EntryRefused(errno.ELOOP, _SYMLINK_TEXT, path)
    return OSError(error.errno, error.strerror, path)


def _remember_kind(entry: os.DirEntry[str]) -> bool:
    """Tell whether an entry still exists, and cache its kind."""
    try:
        entry.is_dir(follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _require_regular(status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise EntryRefused(errno.ELOOP, _SYMLINK_TEXT)
    if stat.S_ISDIR(status.st_mode):
        raise EntryRefused(errno.EISDIR, "it is a directory, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise EntryRefused(errno.EINVAL, "it is not a regular file")


def _format_size(limit: int) -> str:
    return f"{limit // MIB} MiB" if limit >= MIB else f"{limit // 1024} KiB"

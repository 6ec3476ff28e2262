"""Directory handles: the one way to a workspace's files and to the user-local copies of them.

Whoever writes into a workspace may put a link, a FIFO or a device where jp has a file. So a path is
walked from ``/``, one component at a time and without following links (openat with O_NOFOLLOW),
and its last component is used relative to the handle of its directory. Only regular files are
opened, without waiting, and only up to a size. The path that an operator names is resolved once,
by ``resolve``; beneath it no link counts.
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

from jpweb import datafolder

MIB = 1024 * 1024
#: Bytes of events.json; 100,000 events have about 74 MB.
MAX_STREAM_BYTES = 256 * MIB
#: Bytes of metadata.json.
MAX_METADATA_BYTES = MIB
#: Bytes of base_config.json; the largest known one has 300 KiB.
MAX_BASE_CONFIG_BYTES = 16 * MIB
#: Bytes of ``.id``, which has 57.
MAX_ID_BYTES = 4096
#: Entries of one directory.
MAX_ENTRIES = 200_000
#: Files, levels and bytes of a conversation's folder that is copied into the user-local copies.
MAX_COPIED_FILES, MAX_COPIED_LEVELS, MAX_COPIED_BYTES = 1000, 8, 512 * MIB

_LINK = "it is a symbolic link, and jpweb follows none"
_SEARCH = os.O_DIRECTORY | os.O_NOFOLLOW | getattr(os, "O_PATH", os.O_RDONLY)
_LIST = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_RDONLY
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Refused(OSError):
    """The entry is a link, no regular file, or too large; ``strerror`` says which."""


class TooMany(Refused):
    """The directory has more entries than are looked at."""


class Directory:
    """An open directory. Its methods take names of its entries, and follow no link."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def at(cls, path: Path) -> Self:
        """Open the directory at an absolute path. Raises Refused for a link on the way, OSError."""
        if not path.is_absolute() or ".." in path.parts:
            raise Refused(errno.EINVAL, "it is not an absolute path without “..”", str(path))
        descriptor = os.open(path.anchor, _SEARCH)
        for depth, name in enumerate(path.parts[1:], 2):
            parent = descriptor
            try:
                descriptor = os.open(name, _SEARCH, dir_fd=parent)
            except OSError as error:
                place = str(Path(*path.parts[:depth]))
                raise _explain(error, name, parent, place) from error
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

    def enter(self, name: str) -> Self:
        """Open a directory inside. Raises Refused for a link, OSError."""
        with self._named(name):
            try:
                descriptor = os.open(name, _SEARCH, dir_fd=self._descriptor)
            except OSError as error:
                raise _explain(error, name, self._descriptor, name) from error
        return type(self)(descriptor, self.path / name)

    def list_entries(self, limit: int = MAX_ENTRIES) -> list[os.DirEntry[str]]:
        """Return the entries by name. Raises TooMany, OSError."""
        entries: list[os.DirEntry[str]] = []
        with self._named(""):
            descriptor = os.open(".", _LIST, dir_fd=self._descriptor)
            try:
                with os.scandir(descriptor) as found:
                    for entry in found:
                        entries.append(entry)
                        if len(entries) > limit:
                            raise TooMany(errno.EFBIG, f"it has more than {limit:,} entries")
                # Their kind is asked for while the descriptor is open, where readdir told none.
                entries = [entry for entry in entries if _has_kind(entry)]
            finally:
                os.close(descriptor)
        return sorted(entries, key=lambda entry: entry.name)

    def stat(self, name: str) -> os.stat_result | None:
        """Return what an entry itself is, a link as a link; None where there is none."""
        with self._named(name):
            try:
                return os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
            except (FileNotFoundError, NotADirectoryError):
                return None

    def read_link(self, name: str) -> str | None:
        """Return where a link points, without going there; None where no link is."""
        with self._named(name):
            return os.readlink(name, dir_fd=self._descriptor) if self._is_link(name) else None

    def read(self, name: str, limit: int) -> bytes:
        """Return the bytes of a regular file of at most ``limit``. Raises Refused, OSError."""
        descriptor = self.open_file(name, os.O_RDONLY)
        with os.fdopen(descriptor, "rb", buffering=0) as file, self._named(name):
            size = os.fstat(descriptor).st_size
            data = file.read(size + 1) if size <= limit else None
            while data is not None and len(data) <= limit and (more := file.read(MIB)):
                data += more
            if data is None or len(data) > limit:
                raise Refused(errno.EFBIG, f"it is larger than {_bytes(limit)}")
            return data

    def open_file(self, name: str, flags: int, mode: int = 0o666) -> int:
        """Open a regular file and return its descriptor. Raises Refused, OSError.

        A new one gets ``mode`` as the people's own umask has it. A file to be written has no
        second name: that might be another's file.
        """
        with self._named(name):
            there = self.stat(name)
            if there is not None:
                _check_kind(there)
            try:
                descriptor = os.open(name, flags | _FILE, mode, dir_fd=self._descriptor)
            except OSError as error:
                if error.errno == errno.ELOOP:
                    raise Refused(errno.ELOOP, _LINK) from error
                raise
            try:
                opened = os.fstat(descriptor)
                _check_kind(opened)
                if flags & (os.O_WRONLY | os.O_RDWR) and opened.st_nlink > 1:
                    raise Refused(errno.EMLINK, "it has a second name (hard link)")
                if there is None:
                    datafolder.share(descriptor, mode)
            except OSError:
                os.close(descriptor)
                raise
        return descriptor

    def write_file(self, name: str, data: bytes) -> None:
        """Write a new file, down to the disk. Raises FileExistsError, OSError."""
        descriptor = self.open_file(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def make(self, name: str) -> None:
        """Make a directory where there is no entry of this name."""
        with self._named(name), suppress(FileExistsError):
            os.mkdir(name, dir_fd=self._descriptor)
            descriptor = os.open(name, _LIST, dir_fd=self._descriptor)
            try:
                datafolder.share(descriptor, 0o777)
            finally:
                os.close(descriptor)

    def rename(self, name: str, target: Directory, new: str) -> None:
        """Give an entry another name and place, over a file that has it."""
        with self._named(name), target._named(new):
            os.replace(name, new, src_dir_fd=self._descriptor, dst_dir_fd=target._descriptor)

    def remove(self, name: str) -> None:
        """Unlink a file or link. Raises FileNotFoundError, OSError."""
        with self._named(name):
            os.unlink(name, dir_fd=self._descriptor)

    def remove_tree(self, name: str) -> None:
        """Remove an entry, with all that is in it where it is a directory.

        ``shutil.rmtree`` opens what a link points to before it refuses it.
        """
        there = self.stat(name)
        if there is None or not stat.S_ISDIR(there.st_mode):
            self.remove(name)
            return
        with self.enter(name) as inside:
            for entry in inside.list_entries():
                inside.remove_tree(entry.name)
        with self._named(name):
            os.rmdir(name, dir_fd=self._descriptor)

    def sync(self) -> None:
        """Bring the names to the disk, where the filesystem can."""
        descriptor = os.open(".", _LIST, dir_fd=self._descriptor)
        try:
            with suppress(OSError):  # some filesystems do not sync directories
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _is_link(self, name: str) -> bool:
        there = self.stat(name)
        return there is not None and stat.S_ISLNK(there.st_mode)

    @contextmanager
    def _named(self, name: str) -> Iterator[None]:
        """Check an entry's name, and let what is raised inside name its whole path."""
        path = str(self.path / name)
        if "/" in name or "\0" in name or name in (".", ".."):
            raise Refused(errno.EINVAL, "it is not the name of an entry", path)
        try:
            yield
        except OSError as error:
            error.filename = path
            raise


def resolve(path: Path) -> Path:
    """Return the path that an operator names without its links. Raises OSError for a circle."""
    try:
        return path.expanduser().resolve()
    except RuntimeError as error:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from error


def look_at(path: Path) -> os.stat_result | None:
    """Return what is at a path, a link as a link; None where nothing is."""
    with suppress(FileNotFoundError, NotADirectoryError), Directory.at(path.parent) as parent:
        return parent.stat(path.name)
    return None


def is_directory(path: Path) -> bool:
    """Tell whether a directory is at a path. Raises Refused for a link on the way, OSError."""
    there = look_at(path)
    return there is not None and stat.S_ISDIR(there.st_mode)


def read(path: Path, limit: int) -> bytes:
    """Return the bytes of a regular file. Raises Refused, OSError."""
    with Directory.at(path.parent) as parent:
        return parent.read(path.name, limit)


def open_file(path: Path, flags: int) -> int:
    """Open a regular file and return its descriptor. Raises Refused, OSError."""
    with Directory.at(path.parent) as parent:
        return parent.open_file(path.name, flags)


def write_file(path: Path, data: bytes) -> None:
    """Write a new file, down to the disk. Raises FileExistsError, OSError."""
    with Directory.at(path.parent) as parent:
        parent.write_file(path.name, data)


def make(path: Path) -> None:
    """Make a directory where nothing is; the one above it must exist."""
    with Directory.at(path.parent) as parent:
        parent.make(path.name)


def rename(path: Path, target: Path) -> Path:
    """Give an entry another name and place; returns that."""
    with Directory.at(path.parent) as parent, Directory.at(target.parent) as place:
        parent.rename(path.name, place, target.name)
    return target


def remove(path: Path) -> None:
    """Unlink a file or link where there is one."""
    with suppress(FileNotFoundError), Directory.at(path.parent) as parent:
        parent.remove(path.name)


def remove_tree(path: Path) -> None:
    """Remove an entry, with all that is in it where it is a directory."""
    with Directory.at(path.parent) as parent:
        parent.remove_tree(path.name)


def list_entries(path: Path, limit: int = MAX_ENTRIES) -> list[os.DirEntry[str]]:
    """Return the entries of a directory by name. Raises Refused, OSError."""
    with Directory.at(path) as directory:
        return directory.list_entries(limit)


def sync(path: Path) -> None:
    """Bring the names in a directory to the disk, where the filesystem can."""
    with Directory.at(path) as directory:
        directory.sync()


def copy_tree(source: Path, target: Path, wanted: Callable[[str], bool]) -> None:
    """Copy a directory's wanted regular files into a new one; all else is left out.

    Raises Refused where there is too much, OSError.
    """
    make(target)
    with Directory.at(source) as here, Directory.at(target) as there:
        _copy(here, there, wanted, [MAX_COPIED_FILES, MAX_COPIED_BYTES], MAX_COPIED_LEVELS)


def _copy(
    source: Directory,
    target: Directory,
    wanted: Callable[[str], bool],
    left: list[int],
    levels: int,
) -> None:
    """Copy the wanted files, within the files and bytes that are ``left``."""
    for entry in source.list_entries():
        if entry.is_dir(follow_symlinks=False) and levels:
            target.make(entry.name)
            with source.enter(entry.name) as here, target.enter(entry.name) as there:
                _copy(here, there, wanted, left, levels - 1)
        elif entry.is_file(follow_symlinks=False) and wanted(entry.name):
            _copy_file(source, target, entry.name, left)


def _copy_file(source: Directory, target: Directory, name: str, left: list[int]) -> None:
    descriptor = source.open_file(name, os.O_RDONLY)
    with os.fdopen(descriptor, "rb") as file:
        seen = os.fstat(descriptor)
        left[:] = left[0] - 1, left[1] - seen.st_size
        if min(left) < 0:
            raise Refused(errno.EFBIG, "too many or too large files to copy", str(source.path))
        made = target.open_file(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, seen.st_mode & 0o777)
        with os.fdopen(made, "wb") as copied:
            shutil.copyfileobj(file, copied, MIB)
            copied.flush()
            os.utime(made, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def _explain(error: OSError, name: str, parent: int, path: str) -> OSError:
    """Return the error of an entry that was not opened as a directory, as what it is of a link."""
    if error.errno in (errno.ENOTDIR, errno.ELOOP):
        with suppress(OSError):
            there = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if stat.S_ISLNK(there.st_mode):
                return Refused(errno.ELOOP, _LINK, path)
    return OSError(error.errno, error.strerror, path)


def _has_kind(entry: os.DirEntry[str]) -> bool:
    """Tell whether an entry is still there, and let it remember its kind."""
    try:
        entry.is_dir(follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _check_kind(seen: os.stat_result) -> None:
    if stat.S_ISLNK(seen.st_mode):
        raise Refused(errno.ELOOP, _LINK)
    if stat.S_ISDIR(seen.st_mode):
        raise Refused(errno.EISDIR, "it is a directory, not a file")
    if not stat.S_ISREG(seen.st_mode):
        raise Refused(errno.EINVAL, "it is not a regular file")


def _bytes(limit: int) -> str:
    return f"{limit // MIB} MiB" if limit >= MIB else f"{limit // 1024} KiB"

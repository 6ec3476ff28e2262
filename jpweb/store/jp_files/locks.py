"""JP's lock on a conversation: one file, one flock (docs/jp-format.md, Locks).

jp never checks whether the path still names the file it locked, and it releases by
closing first and unlinking after. With such a peer, three measures keep two programs
from holding at once:

* Acquiring: a file with a free flock may be unlinked the next moment by the jp that has
  just closed it. So where a file names a living process, its flock is held until the
  file is unlinked (then: try again) or has outlived ``_SETTLE_SECONDS``; afterwards the
  path must still name the locked file.
* Releasing: the file is unlinked while its flock is still held, so never a successor's.
  A process that opened it before can only fail on its flock, and
  ``_await_other_readers`` waits until it has; a later one makes a new file.
* Holding: a jp that ends takes files with a free flock for orphans. If it checked ours
  in the instant before we locked it, it unlinks it after: ``confirm_held`` notices and
  acquires it again.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from jpweb.store.database import clock
from jpweb.store.errors import StoreError
from jpweb.store.jp_files import directory_handles
from jpweb.stream import timestamps

#: Session that our lock files name as the holder; for people only.
LOCK_SESSION = "jpweb"
#: Seconds between two attempts at a held lock.
_POLL_SECONDS = 0.05
#: Seconds that a jp may take between closing its lock file and unlinking it.
_SETTLE_SECONDS = 1.0
#: Seconds that a peer may take between opening a lock file and asking for its flock.
_DRAIN_SECONDS = 1.0
#: Used instead of ``_DRAIN_SECONDS`` where the system cannot detect such a peer.
_BLIND_DRAIN_SECONDS = 0.02
_CHECK_INTERVAL_SECONDS = 0.001
#: Attempts at a path that others replace each time, after which it counts as held.
_MAX_TRIES = 200


@dataclass(frozen=True, slots=True)
class LockHolder:
    """The holder that a lock file names; None for unreadable values."""

    pid: int | None = None
    session: str | None = None
    acquired_at: datetime | None = None


class LockHeld(StoreError):
    """Another program holds the conversation's lock; ``holder`` names it, as far as known."""

    def __init__(self, holder: LockHolder) -> None:
        holder_text = f"process {holder.pid}" if holder.pid else "another program"
        if holder.session:
            holder_text += f", session {holder.session}"
        if holder.acquired_at:
            holder_text += f", since {holder.acquired_at:%Y-%m-%d %H:%M:%S} UTC"
        super().__init__(f"This conversation is in use by {holder_text}.")
        self.holder = holder


class ConversationLock:
    """A held lock, valid inside ``hold_lock``. Writers take it as proof."""

    def __init__(self, jp_id: int, paths: Sequence[Path], timeout_seconds: float) -> None:
        self.jp_id = jp_id
        self._paths = paths
        self.path, self._descriptor = _acquire_within(paths, timeout_seconds)

    def confirm_held(self) -> None:
        """Check that the path still names the locked file; acquire it again where it does not.

        Another program may have written in between: confirm, read, write. Raises LockHeld where
        another was first, OSError once the lock is released.
        """
        if _is_current(self._paths, self.path, self._descriptor):
            return
        lost_descriptor = self._descriptor
        self.path, self._descriptor = _acquire_within(self._paths, 0)
        os.close(lost_descriptor)

    def release(self) -> None:
        """Unlink the file, then unlock; a file of another holder stays. Once only."""
        descriptor, self._descriptor = self._descriptor, -1
        try:
            with suppress(OSError):  # a file that remains is an orphan, and does not block
                if _is_path_of_descriptor(self.path, descriptor):
                    directory_handles.remove_file(self.path)
                    _await_other_readers(descriptor)
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # for descriptors that a fork has copied, too
            os.close(descriptor)


@contextmanager
def hold_lock(
    silo: Path | None, workspace_jp: Path, jp_id: int, timeout_seconds: float = 0
) -> Iterator[ConversationLock]:
    """Hold the lock of a conversation, as a ``jp`` that changes it does.

    ``workspace_jp`` is the workspace's ``.jp``; ``silo`` and it must exist, ``locks`` need
    not. Waits ``timeout_seconds`` at most for another holder; the file of a dead process
    does not block. Threads of one process exclude each other too. Raises LockHeld, OSError.
    """
    conversation_lock = ConversationLock(
        jp_id, _list_candidate_paths(silo, workspace_jp, jp_id), timeout_seconds
    )
    try:
        yield conversation_lock
    finally:
        conversation_lock.release()


def _list_candidate_paths(silo: Path | None, workspace_jp: Path, jp_id: int) -> list[Path]:
    """Return the paths of the lock file; it is created at the first."""
    roots = [workspace_jp] if silo is None else [silo, workspace_jp]
    return [root / "locks" / f"jp-c{jp_id}.lock" for root in roots]


def _choose_path(paths: Sequence[Path]) -> Path:
    return next((path for path in paths if directory_handles.stat_path(path)), paths[0])


def _acquire_within(paths: Sequence[Path], timeout_seconds: float) -> tuple[Path, int]:
    deadline = time.monotonic() + timeout_seconds
    while True:
        try:
            return _acquire(paths)
        except LockHeld:
            if time.monotonic() >= deadline:
                raise
        time.sleep(_POLL_SECONDS)


def _acquire(paths: Sequence[Path]) -> tuple[Path, int]:
    for _ in range(_MAX_TRIES):
        path = _choose_path(paths)
        descriptor = _open_lock_file(path, create=path == paths[0])
        if descriptor is None:
            continue
        is_locked = False
        try:
            is_locked = _lock_and_sign(paths, path, descriptor)
        finally:
            if not is_locked:
                os.close(descriptor)
        if is_locked:
            return path, descriptor
    raise LockHeld(LockHolder())


def _open_lock_file(path: Path, *, create: bool) -> int | None:
    """Open the lock file; None where it is gone and it has to be created at another path."""
    if create:
        directory_handles.make_directory(path.parent)
        return directory_handles.open_file(path, os.O_RDWR | os.O_CREAT)
    try:
        return directory_handles.open_file(path, os.O_RDWR)
    except FileNotFoundError:
        return None


def _lock_and_sign(paths: Sequence[Path], path: Path, descriptor: int) -> bool:
    """Lock and sign the file; False where the path no longer names it. Raises LockHeld."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise LockHeld(_parse_holder(descriptor)) from None
    _await_former_unlink(path, descriptor)
    if not _is_current(paths, path, descriptor):
        return False
    acquired_at = clock.now().isoformat()
    signature = {"pid": os.getpid(), "session": LOCK_SESSION, "acquired_at": acquired_at}
    with suppress(OSError):  # the content is for people; the flock is the lock
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(signature, separators=(",", ":")).encode(), 0)
    return True


def _await_former_unlink(path: Path, descriptor: int) -> None:
    """Wait for the unlink that a living former holder may be about to do."""
    former_pid = _parse_holder(descriptor).pid
    if former_pid is None or former_pid == os.getpid():
        return
    deadline = time.monotonic() + _SETTLE_SECONDS
    while (
        _is_path_of_descriptor(path, descriptor)
        and _is_alive(former_pid)
        and time.monotonic() < deadline
    ):
        time.sleep(_CHECK_INTERVAL_SECONDS)


def _await_other_readers(descriptor: int) -> None:
    """Wait until no other process has the unlinked file open, or the time for it is over."""
    deadline = time.monotonic() + _DRAIN_SECONDS
    while time.monotonic() < deadline:
        try:  # F_SETLEASE fails while another process has the file open
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        except BlockingIOError:
            time.sleep(_CHECK_INTERVAL_SECONDS)
        except (AttributeError, OSError):  # Linux only, and only for the file's owner
            time.sleep(_BLIND_DRAIN_SECONDS)
            return
        else:
            return


def _is_current(paths: Sequence[Path], path: Path, descriptor: int) -> bool:
    """Tell whether the file is the one that a new process would open."""
    return _is_path_of_descriptor(path, descriptor) and _choose_path(paths) == path


def _is_path_of_descriptor(path: Path, descriptor: int) -> bool:
    held_status = os.fstat(descriptor)
    path_status = directory_handles.stat_path(path)
    return path_status is not None and os.path.samestat(held_status, path_status)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _parse_holder(descriptor: int) -> LockHolder:
    try:
        value = json.loads(os.pread(descriptor, 4096, 0))
    except (OSError, ValueError, RecursionError):
        value = None
    fields: dict[str, Any] = value if isinstance(value, dict) else {}
    pid, session, acquired_at = (fields.get(key) for key in ("pid", "session", "acquired_at"))
    return LockHolder(
        pid if type(pid) is int and 0 < pid < 1 << 31 else None,
        session if isinstance(session, str) else None,
        timestamps.parse_timestamp(acquired_at) if isinstance(acquired_at, str) else None,
    )

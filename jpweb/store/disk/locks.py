"""JP's lock on a conversation: one file, one flock (jp-storage-format, section 8).

jp never looks whether the path still names the file it locked, and it lets go by closing first
and unlinking after. With such a peer, three things keep two programs from holding at once:

* Taking: a file with a free flock may be unlinked the next moment by the jp that has just closed
  it. So a file that names a living process is held still until the file is gone (then: again)
  or has outlived ``_SETTLE``; afterwards the path must still name the file that we locked.
* Letting go: the file is unlinked while its flock is still held, so never a successor's. Who
  opened it before can only fail on its flock, and ``_drain`` waits for them to have failed;
  who comes later makes a new file.
* Holding: a jp that ends takes files with a free flock for orphans. If it looked at ours in the
  instant before we locked it, it unlinks it after: ``confirm`` notices and takes it anew.
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
from jpweb.store.disk import directory
from jpweb.store.errors import StoreError
from jpweb.stream import timestamps

#: What our lock files give as the session that holds; for people only.
SESSION = "jpweb"
#: Seconds between two attempts at a held lock.
_POLL = 0.05
#: Seconds that a jp may take between closing its lock file and unlinking it.
_SETTLE = 1.0
#: Seconds that a peer may take between opening a lock file and asking for its flock.
_DRAIN = 1.0
#: The same where the system cannot tell whether there is such a peer.
_BLIND = 0.02
_PAUSE = 0.001
#: How often in a row a path may change beneath us before we call it held.
_TRIES = 200


@dataclass(frozen=True, slots=True)
class Holder:
    """What a lock file says about who holds it; None for what cannot be read."""

    pid: int | None = None
    session: str | None = None
    acquired_at: datetime | None = None


class Held(StoreError):
    """Another program holds the conversation; ``holder`` says who, as far as it is known."""

    def __init__(self, holder: Holder) -> None:
        who = f"process {holder.pid}" if holder.pid else "another program"
        if holder.session:
            who += f", session {holder.session}"
        if holder.acquired_at:
            who += f", since {holder.acquired_at:%Y-%m-%d %H:%M:%S} UTC"
        super().__init__(f"This conversation is in use by {who}.")
        self.holder = holder


class ConversationLock:
    """A held lock; alive inside ``lock``. Writers ask for one as proof."""

    def __init__(self, ds: int, paths: Sequence[Path], timeout: float) -> None:
        self.ds = ds
        self._paths = paths
        self.path, self._descriptor = _wait(paths, timeout)

    def confirm(self) -> None:
        """Make sure that the path still names the file we hold; take it anew where it does not.

        What was read before may have changed then: confirm, read, write. Raises Held where
        another was first, OSError once the lock is released.
        """
        if _current(self._paths, self.path, self._descriptor):
            return
        lost = self._descriptor
        self.path, self._descriptor = _wait(self._paths, 0)
        os.close(lost)

    def release(self) -> None:
        """Unlink the file, then let go; a file that is no longer ours stays. Once only."""
        descriptor, self._descriptor = self._descriptor, -1
        try:
            with suppress(OSError):  # a file that stays is an orphan, and blocks nobody
                if _names(self.path, descriptor):
                    directory.remove(self.path)
                    _drain(descriptor)
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # for descriptors that a fork has copied, too
            os.close(descriptor)


@contextmanager
def lock(
    silo: Path | None, workspace_jp: Path, ds: int, timeout: float = 0
) -> Iterator[ConversationLock]:
    """Hold the conversation ``ds``, as a ``jp`` that changes it does (section 8).

    ``workspace_jp`` is the workspace's ``.jp``; ``silo`` and it must exist, ``locks`` need not.
    Waits ``timeout`` seconds at most for another to let go; a dead one's file does not block.
    Threads of one process exclude each other too. Raises Held, OSError.
    """
    held = ConversationLock(ds, _paths(silo, workspace_jp, ds), timeout)
    try:
        yield held
    finally:
        held.release()


def holder(silo: Path | None, workspace_jp: Path, ds: int) -> Holder | None:
    """Return what the lock file says, or None where there is none or its process has ended.

    For people only, and without touching the flock: a glance at it could make a ``jp`` fail.
    Raises OSError.
    """
    try:
        path = _chosen(_paths(silo, workspace_jp, ds))
        descriptor = directory.open_file(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        found = _read(descriptor)
    finally:
        os.close(descriptor)
    return found if found.pid is None or _lives(found.pid) else None


def _paths(silo: Path | None, workspace_jp: Path, ds: int) -> list[Path]:
    """Return where the lock file may be, the place to create it first."""
    homes = [workspace_jp] if silo is None else [silo, workspace_jp]
    return [home / "locks" / f"jp-c{ds}.lock" for home in homes]


def _chosen(paths: Sequence[Path]) -> Path:
    return next((path for path in paths if directory.look_at(path)), paths[0])


def _wait(paths: Sequence[Path], timeout: float) -> tuple[Path, int]:
    deadline = time.monotonic() + timeout
    while True:
        try:
            return _take(paths)
        except Held:
            if time.monotonic() >= deadline:
                raise
        time.sleep(_POLL)


def _take(paths: Sequence[Path]) -> tuple[Path, int]:
    for _ in range(_TRIES):
        path = _chosen(paths)
        descriptor = _open(path, create=path == paths[0])
        if descriptor is None:
            continue
        taken = False
        try:
            taken = _grip(paths, path, descriptor)
        finally:
            if not taken:
                os.close(descriptor)
        if taken:
            return path, descriptor
    raise Held(Holder())


def _open(path: Path, *, create: bool) -> int | None:
    """Open the lock file; None where it is gone and another place is the one to create it in."""
    if create:
        directory.make(path.parent)
        return directory.open_file(path, os.O_RDWR | os.O_CREAT)
    try:
        return directory.open_file(path, os.O_RDWR)
    except FileNotFoundError:
        return None


def _grip(paths: Sequence[Path], path: Path, descriptor: int) -> bool:
    """Lock and sign the file; False where the path no longer names it. Raises Held."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Held(_read(descriptor)) from None
    _settle(path, descriptor)
    if not _current(paths, path, descriptor):
        return False
    now = clock.now().isoformat()
    signed = {"pid": os.getpid(), "session": SESSION, "acquired_at": now}
    with suppress(OSError):  # the words are for people; the flock is what counts
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(signed, separators=(",", ":")).encode(), 0)
    return True


def _settle(path: Path, descriptor: int) -> None:
    """Wait for the unlink that a living former holder may be about to do."""
    former = _read(descriptor).pid
    if former is None or former == os.getpid():
        return
    deadline = time.monotonic() + _SETTLE
    while _names(path, descriptor) and _lives(former) and time.monotonic() < deadline:
        time.sleep(_PAUSE)


def _drain(descriptor: int) -> None:
    """Wait until nobody else has the unlinked file open, or the time for it is over."""
    deadline = time.monotonic() + _DRAIN
    while time.monotonic() < deadline:
        try:  # a lease is refused while another has the file open
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        except BlockingIOError:
            time.sleep(_PAUSE)
        except (AttributeError, OSError):  # leases are Linux's, and only on files of one's own
            time.sleep(_BLIND)
            return
        else:
            return


def _current(paths: Sequence[Path], path: Path, descriptor: int) -> bool:
    """Tell whether the file is the one that everybody who comes now would open."""
    return _names(path, descriptor) and _chosen(paths) == path


def _names(path: Path, descriptor: int) -> bool:
    mine = os.fstat(descriptor)
    named = directory.look_at(path)
    return named is not None and os.path.samestat(mine, named)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _read(descriptor: int) -> Holder:
    try:
        value = json.loads(os.pread(descriptor, 4096, 0))
    except (OSError, ValueError, RecursionError):
        value = None
    fields: dict[str, Any] = value if isinstance(value, dict) else {}
    pid, session, at = (fields.get(key) for key in ("pid", "session", "acquired_at"))
    return Holder(
        pid if type(pid) is int and 0 < pid < 1 << 31 else None,
        session if isinstance(session, str) else None,
        timestamps.parse(at) if isinstance(at, str) else None,
    )

"""JP's lock, with a jp at the other end that makes none of our checks."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jpweb.store.jp_files import locks
from jpweb.store.jp_files.locks import LockHeld, LockHolder

DS = 17728322628
NAME = f"jp-c{DS}.lock"
OURS = """
import sys, pathlib
from jpweb.store.jp_files import locks
with locks.hold_lock(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def silo(tmp_path: Path) -> Path:
    (tmp_path / "silo").mkdir()
    return tmp_path / "silo"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project/.jp").mkdir(parents=True)
    return tmp_path / "project/.jp"


@contextmanager
def process(*words: object) -> Iterator[subprocess.Popen[str]]:
    arguments = [sys.executable, *(str(word) for word in words)]
    with subprocess.Popen(arguments, stdin=-1, stdout=-1, text=True) as running_process:
        assert running_process.stdin
        try:
            yield running_process
        finally:
            if running_process.poll() is None:
                running_process.stdin.close()
                running_process.wait(10)


@contextmanager
def held_by_jp(path: Path, answer: str = "held") -> Iterator[int]:
    with process("-m", "tests.store.jp_files.writing.jp", "hold", path) as running_process:
        assert running_process.stdout
        assert running_process.stdout.readline() == f"{answer}\n"
        yield running_process.pid


def run_and_kill(*words: object) -> int:
    """Run a process that takes a lock, kill it while it holds, return its id."""
    with process(*words) as running_process:
        assert running_process.stdout
        assert running_process.stdout.readline() == "held\n"
        running_process.send_signal(signal.SIGKILL)
        running_process.wait(10)
        return running_process.pid


class Clock:
    """Time that passes while somebody sleeps; ``due``: what happens then, and when."""

    def __init__(self) -> None:
        self.now = 0.0
        self.due: list[tuple[float, Callable[[], object]]] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        while self.due and self.due[0][0] <= self.now:
            self.due.pop(0)[1]()


@pytest.fixture
def clock(monkeypatch) -> Clock:
    fake_clock = Clock()
    monkeypatch.setattr(locks, "time", fake_clock)
    return fake_clock


def free(path: Path) -> bool:
    """Tell whether a jp would get the file."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def test_lock_file_names_its_holder_in_jps_format(silo, project):
    with locks.hold_lock(silo, project, DS) as lock:
        text = (silo / "locks" / NAME).read_text()
        assert lock.path == silo / "locks" / NAME
        assert not free(lock.path)
    signature = json.loads(text)
    assert list(signature) == ["pid", "session", "acquired_at"]
    assert signature["pid"] == os.getpid()
    assert signature["acquired_at"].endswith("+00:00")
    assert text == json.dumps(signature, separators=(",", ":"))


def test_released_lock_leaves_no_file_and_no_descriptor(silo, project):
    with locks.hold_lock(silo, project, DS) as lock:
        pass
    assert not lock.path.exists()
    with pytest.raises(OSError, match="Bad file descriptor"):
        lock.confirm_held()


def test_a_lock_is_released_when_its_holder_fails(silo, project):
    def fail() -> None:
        with locks.hold_lock(silo, project, DS):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list((silo / "locks").iterdir()) == []


def test_hold_lock_without_a_silo_creates_the_file_in_the_workspace(project):
    with locks.hold_lock(None, project, DS) as lock:
        assert lock.path == project / "locks" / NAME


@pytest.mark.parametrize(
    ("file_places", "expected"), [("s", "s"), ("w", "w"), ("sw", "s"), ("", "s")]
)
def test_a_file_that_exists_is_used_the_silos_first(silo, project, file_places, expected):
    places = {"s": silo / "locks" / NAME, "w": project / "locks" / NAME}
    for place in file_places:
        places[place].parent.mkdir()
        places[place].touch()
    with locks.hold_lock(silo, project, DS) as lock:
        assert lock.path == places[expected]


def test_a_file_that_vanishes_from_the_workspace_is_made_in_the_silo(silo, project, monkeypatch):
    path = project / "locks" / NAME
    path.parent.mkdir()
    path.touch()

    def vanishing(file: Path, flags: int, mode: int = 0o777, **options: int) -> int:
        path.unlink(missing_ok=True)
        return real_open(file, flags, mode, **options)

    real_open = os.open
    monkeypatch.setattr(os, "open", vanishing)
    with locks.hold_lock(silo, project, DS) as lock:
        assert lock.path == silo / "locks" / NAME


def test_hold_lock_that_fails_closes_its_descriptor(project, monkeypatch):
    def flock(descriptor: int, operation: int) -> None:
        descriptors.append(descriptor)
        raise OSError(37, "No locks available")

    descriptors: list[int] = []
    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(OSError, match="No locks"), locks.hold_lock(None, project, DS):
        pass
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptors[0])


def test_hold_lock_does_not_create_a_missing_silo_or_workspace(tmp_path, project):
    with pytest.raises(FileNotFoundError), locks.hold_lock(tmp_path / "gone", project, DS):
        pass
    assert not (tmp_path / "gone").exists()


def test_a_link_in_place_of_the_file_is_not_followed(project, tmp_path):
    (tmp_path / "precious").write_text("precious")
    (project / "locks").mkdir()
    (project / "locks" / NAME).symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="is a symbolic link"), locks.hold_lock(None, project, DS):
        pass
    assert (tmp_path / "precious").read_text() == "precious"


def test_a_lock_that_jp_holds_is_reported_with_its_process(silo, project):
    with held_by_jp(silo / "locks" / NAME) as pid:
        with pytest.raises(LockHeld, match=f"process {pid}, session s1, since 20") as error:
            locks.hold_lock(silo, project, DS).__enter__()
        assert error.value.holder.pid == pid
        assert error.value.holder.session == "s1"
        at = error.value.holder.acquired_at
        assert at
        assert abs((datetime.now(UTC) - at).total_seconds()) < 20
    with locks.hold_lock(silo, project, DS):
        pass


def test_held_lock_excludes_jp(silo, project):
    with locks.hold_lock(silo, project, DS) as lock, held_by_jp(lock.path, "refused"):
        assert not free(lock.path)
    with held_by_jp(silo / "locks" / NAME):
        pass


def test_hold_lock_waits_until_its_timeout(silo, project, clock):
    with ExitStack() as jp_lock:
        jp_lock.enter_context(held_by_jp(silo / "locks" / NAME))
        with pytest.raises(LockHeld), locks.hold_lock(silo, project, DS, timeout_seconds=0.2):
            pass
        waited_seconds = clock.now
        assert 0.2 <= waited_seconds < 0.2 + 2 * locks._POLL_SECONDS
        clock.due.append((waited_seconds + 0.2, jp_lock.pop_all().close))
        with locks.hold_lock(silo, project, DS, timeout_seconds=20):
            assert clock.now - waited_seconds < 0.2 + 2 * locks._POLL_SECONDS


def test_lock_excludes_other_threads_of_the_process(silo, project):
    with locks.hold_lock(silo, project, DS), pytest.raises(LockHeld) as error:
        locks.hold_lock(silo, project, DS).__enter__()
    assert error.value.holder.pid == os.getpid()


@pytest.mark.parametrize("whose", ["jp's", "ours"])
def test_the_file_of_a_killed_process_does_not_block(silo, project, clock, whose):
    path = silo / "locks" / NAME
    if whose == "ours":
        pid = run_and_kill("-c", OURS, silo, project, DS)
    else:
        pid = run_and_kill("-m", "tests.store.jp_files.writing.jp", "hold", path)
    assert json.loads(path.read_text())["pid"] == pid
    with locks.hold_lock(silo, project, DS):
        assert clock.now == 0.0, "nothing was waited for"
        assert json.loads(path.read_text())["pid"] == os.getpid()


def test_hold_lock_takes_an_unlocked_file_of_a_living_process(silo, project, clock):
    path = silo / "locks" / NAME
    path.parent.mkdir()
    path.write_text(json.dumps({"pid": os.getppid()}))
    with locks.hold_lock(silo, project, DS) as lock:
        assert clock.now >= locks._SETTLE_SECONDS
        lock.confirm_held()
        assert path.exists()


def test_hold_lock_does_not_take_a_file_being_unlinked(silo, project, clock):
    path = silo / "locks" / NAME
    path.parent.mkdir()
    path.write_text(json.dumps({"pid": os.getppid()}))
    clock.due.append((0.1, path.unlink))
    with path.open() as old, locks.hold_lock(silo, project, DS) as lock:
        assert clock.due == []
        assert path.stat().st_ino != os.fstat(old.fileno()).st_ino
        lock.confirm_held()
        assert path.exists()


def test_a_file_unlinked_between_opening_and_locking_is_noticed(silo, project, monkeypatch):
    path = silo / "locks" / NAME
    locked: list[int] = []

    def flock(descriptor: int, operation: int) -> None:
        if not locked and operation & fcntl.LOCK_EX:
            path.unlink()
        locked.append(os.fstat(descriptor).st_nlink)
        fcntl_flock(descriptor, operation)

    fcntl_flock = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", flock)
    with locks.hold_lock(silo, project, DS) as lock:
        assert locked == [0, 1]
        assert not free(lock.path)


def test_confirm_held_creates_the_file_again_after_its_removal(silo, project):
    with locks.hold_lock(silo, project, DS) as lock:
        lock.path.unlink()
        lock.confirm_held()
        assert not free(lock.path)
        lock.confirm_held()
    assert not lock.path.exists()


def test_lock_taken_over_by_another_is_lost_and_keeps_its_file(silo, project):
    with locks.hold_lock(silo, project, DS) as lock:
        lock.path.unlink()
        with held_by_jp(lock.path) as pid:
            with pytest.raises(LockHeld) as error:
                lock.confirm_held()
            assert error.value.holder.pid == pid
            lock.release()
            assert lock.path.exists()
            lock._descriptor = os.open(os.devnull, os.O_RDONLY)  # for the second release


def test_a_lock_in_the_workspace_gives_way_to_one_made_in_the_silo(silo, project):
    path = project / "locks" / NAME
    path.parent.mkdir()
    path.touch()
    with locks.hold_lock(silo, project, DS) as lock:
        assert lock.path == path
        with held_by_jp(silo / "locks" / NAME), pytest.raises(LockHeld):
            lock.confirm_held()


@pytest.mark.parametrize(
    ("content", "holder"),
    [
        (b"", LockHolder()),
        (b"[" * 4000, LockHolder()),
        (b"[1]", LockHolder()),
        (b'{"pid":-1,"session":3,"acquired_at":"soon"}', LockHolder()),
        (b'{"pid":true,"acquired_at":4}', LockHolder()),
        (b'{"pid":99999999999999,"session":"x"}', LockHolder(session="x")),
        (
            b'{"pid":1,"acquired_at":"2026-03-05T19:31:45.777733123+00:00"}',
            LockHolder(1, None, datetime(2026, 3, 5, 19, 31, 45, 777733, UTC)),
        ),
    ],
)
def test_holder_of_a_lock_file_with_any_content_is_read(tmp_path, content, holder):
    (tmp_path / NAME).write_bytes(content)
    with (tmp_path / NAME).open("rb") as lock_file:
        assert locks._parse_holder(lock_file.fileno()) == holder


def test_process_of_another_user_counts_as_alive(monkeypatch):
    def kill(pid: int, signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", kill)
    assert locks._is_alive(4711)


def test_hold_lock_reports_a_path_that_keeps_changing_as_held(silo, project, monkeypatch):
    monkeypatch.setattr(locks, "_is_path_of_descriptor", lambda path, descriptor: False)
    with pytest.raises(LockHeld, match="another program"):
        locks.hold_lock(silo, project, DS).__enter__()


@pytest.mark.parametrize("seconds", [0.1, 5])
def test_await_other_readers_waits_for_an_open_descriptor(tmp_path, monkeypatch, clock, seconds):
    monkeypatch.setattr(locks, "_DRAIN_SECONDS", seconds)
    with (tmp_path / "lock").open("w") as own_file, (tmp_path / "lock").open() as other_file:
        clock.due.append((0.2, other_file.close))
        locks._await_other_readers(own_file.fileno())
        assert min(0.2, seconds) <= clock.now < min(0.2, seconds) + 2 * locks._POLL_SECONDS


def test_await_other_readers_without_leases_waits_a_fixed_time(tmp_path, monkeypatch, clock):
    monkeypatch.delattr(fcntl, "F_SETLEASE")
    with (tmp_path / "lock").open("w") as own_file:
        locks._await_other_readers(own_file.fileno())
        assert locks._BLIND_DRAIN_SECONDS <= clock.now < locks._DRAIN_SECONDS

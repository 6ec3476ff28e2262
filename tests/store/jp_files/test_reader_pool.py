"""Processes that read ahead: the same as reading here, whatever becomes of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from jpweb.store import journal
from jpweb.store.jp_files import mirror, reader, reader_pool
from jpweb.store.jp_files.reader import ParsedConversation
from jpweb.store.jp_files.workspace import DiskConversation, find_workspace, iterate_conversations
from jpweb.store.models import Conversation, Inquiry, JournalEntry, Workspace
from jpweb.stream.events import Element, EventKind
from tests.builders import make_answer, make_call, make_inquiry, make_result, raw, stream
from tests.machine import programs
from tests.machine.ports import wait_until
from tests.machine.sizes import mark_proof
from tests.store.making import write_folder

KINDS: list[EventKind | Element] = [
    make_call("c"),
    make_inquiry("c.q.1"),
    make_answer("c.q.1"),
    make_result("c"),
    raw({"type": "weather"}),
]
MANY = 12
MUCH = 1 << 40


def let_much_be(
    monkeypatch: pytest.MonkeyPatch, byte_count: int, element_count: int = MUCH
) -> None:
    """Let processes parse from so many bytes on, or after so many elements."""
    monkeypatch.setattr(reader_pool, "MIN_POOL_BYTES", byte_count)
    monkeypatch.setattr(reader_pool, "MAX_OWN_ELEMENTS", element_count)


@pytest.fixture(autouse=True)
def processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let any machine have three, and anything be much to read."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1, 2})
    let_much_be(monkeypatch, 1)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number in range(MANY):
        write_folder(
            tmp_path, f"{17000000000 + number}-talk", stream(*KINDS), title=f"Talk {number}"
        )
    write_folder(tmp_path, "17000000500-broken", b"[{", title="a\ud800b")
    write_folder(tmp_path, "17000000501-none", None)
    return tmp_path


@pytest.fixture
def worker_processes(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Every worker that was started, the newest last."""
    real, processes = subprocess.Popen, []

    def start(*args: Any, **options: Any) -> subprocess.Popen[bytes]:
        processes.append(real(*args, **options))
        return processes[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr(reader_pool, "SHUTDOWN_TIMEOUT_SECONDS", 60)  # one may still import
    return processes


def list_disk_conversations(root: Path) -> list[DiskConversation]:
    return list(iterate_conversations(find_workspace(root)))


def rows() -> list[Any]:
    """Return what a mirror wrote, without the keys that the database gave."""
    conversations = Conversation.objects.order_by("jp_id")
    entries = JournalEntry.objects.order_by("conversation__jp_id", "position")
    queryset = Inquiry.objects.order_by("conversation__jp_id", "position")
    return [
        list(
            conversations.values(
                "jp_id", "title", "entry_count", "turns", "problem", "last_activity"
            )
        ),
        list(entries.values_list("conversation__jp_id", "text", "kind", "anchor")),
        list(
            queryset.values_list("anchor", "state", "question", "answer", "asked_at", "settled_at")
        ),
    ]


@pytest.mark.django_db
def test_reader_processes_read_the_same_rows_as_the_main_process(
    root: Path, worker_processes: list[Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reader_pool, "MAX_SMALL_BYTES", 0)
    progress: list[Any] = []
    workspace, report = mirror.mirror_workspace(root, "", lambda *args: progress.append(args[:2]))
    expected_rows = rows()
    assert [worker.returncode for worker in worker_processes] == [0, 0]
    assert progress == [(done, MANY + 2) for done in range(MANY + 3)]
    workspace.delete()
    let_much_be(monkeypatch, MUCH)
    second_report = mirror.mirror_workspace(root)[1]
    assert (len(worker_processes), rows()) == (2, expected_rows)
    assert (
        second_report.problems, second_report.inquiries,
        second_report.unknown_elements, second_report.broken_elements,
    ) == (
        report.problems, report.inquiries, report.unknown_elements, report.broken_elements,
    )  # fmt: skip
    assert (len(report.problems), report.unknown_elements, report.inquiries.total()) == (
        2,
        MANY,
        MANY,
    )


@pytest.mark.proof  # test_reader_processes_read_... reads the same; the server's mirror is a thread
def test_workers_serve_a_thread(root: Path, worker_processes: list[Any]):
    """As under the server, where no other thread may be disturbed."""
    with ThreadPoolExecutor(1) as pool:
        conversations = pool.submit(lambda: _all(list_disk_conversations(root))).result()
    assert conversations == [
        reader.parse_conversation(conversation) for conversation in list_disk_conversations(root)
    ]
    assert [worker.returncode for worker in worker_processes] == [0, 0]


def _all(folders: list[DiskConversation]) -> list[ParsedConversation]:
    with reader_pool.read_ahead(folders) as readings:
        return list(readings)


def kill_one(workers: list[Any]) -> None:
    workers[0].kill()
    workers[0].wait()


def kill_all(workers: list[Any]) -> None:
    for worker in workers:
        worker.kill()
        worker.wait()


@pytest.mark.parametrize(
    ("kill", "after"),
    [
        (kill_all, 5),
        # None runs before the first is read.
        *mark_proof((kill_one, 1), (kill_one, 5), (kill_all, 1)),
    ],
)
def test_read_ahead_reads_the_rest_itself_when_readers_are_killed(
    root: Path, worker_processes: list[Any], kill: Any, after: int
):
    expected = [
        reader.parse_conversation(conversation) for conversation in list_disk_conversations(root)
    ]
    with reader_pool.read_ahead(list_disk_conversations(root)) as readings:
        conversations = [next(readings) for _ in range(after)]
        kill(worker_processes)
        conversations += readings
    assert conversations == expected
    assert all(worker.returncode is not None for worker in worker_processes)


def test_read_ahead_reads_itself_when_no_process_can_start(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*args: Any, **options: Any) -> None:
        raise OSError("no room")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with reader_pool.read_ahead(list_disk_conversations(root)) as readings:
        assert list(readings) == [
            reader.parse_conversation(conversation)
            for conversation in list_disk_conversations(root)
        ]


def test_read_ahead_ends_its_processes_when_closed_early(root: Path, worker_processes: list[Any]):
    def stop() -> None:
        with reader_pool.read_ahead(list_disk_conversations(root)) as readings:
            next(readings)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert [worker.returncode for worker in worker_processes] == [0, 0]


def test_a_worker_that_does_not_end_is_killed(
    root: Path, worker_processes: list[Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reader_pool, "SHUTDOWN_TIMEOUT_SECONDS", 0.1)
    with reader_pool.read_ahead(list_disk_conversations(root)) as readings:
        next(readings)
        worker_processes[0].send_signal(signal.SIGSTOP)
    assert worker_processes[0].returncode == -signal.SIGKILL
    assert worker_processes[1].returncode in (
        0,
        -signal.SIGKILL,
    )  # ended by itself, where it was quick


@pytest.mark.parametrize(
    ("processors", "limits", "count"),
    [
        ({0}, (1, MUCH), 1),
        (set(range(64)), (1, MUCH), 2),
        (set(range(64)), (MUCH, MUCH), 0),
        *mark_proof(({0, 1}, (1, MUCH), 1), (set(range(64)), (MUCH, 1), 1)),
    ],
)
def test_read_ahead_starts_few_processes_and_only_for_many_bytes(
    root: Path,
    worker_processes: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    processors: set[int],
    limits: tuple[int, int],
    count: int,
):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: processors)
    let_much_be(monkeypatch, *limits)
    with reader_pool.read_ahead(list_disk_conversations(root)) as readings:
        assert len(list(readings)) == MANY + 2
    assert len(worker_processes) == count


@pytest.mark.parametrize(("limit", "count"), [(1, 1), *mark_proof((MUCH, 0))])
def test_read_ahead_starts_a_process_for_one_long_conversation(
    root: Path,
    worker_processes: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    limit: int,
    count: int,
):
    let_much_be(monkeypatch, limit)
    with reader_pool.read_ahead(list_disk_conversations(root)[:1]) as readings:
        assert len(list(readings)) == 1
    with reader_pool.read_ahead([]) as readings:
        assert list(readings) == []
    assert len(worker_processes) == count


@pytest.mark.parametrize(
    ("length", "text", "count"),
    [
        pytest.param(150, b"0", 1, id="small", marks=pytest.mark.proof),
        pytest.param(150, b'"a longer text"', 1, id="longer"),
        pytest.param(50, b"[0,0,0,0]", 0, id="few with commas"),
    ],
)
def test_read_ahead_starts_a_process_after_many_elements_in_total(
    tmp_path: Path,
    worker_processes: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    length: int,
    text: bytes,
    count: int,
):
    let_much_be(monkeypatch, MUCH, 250)
    for number in range(4):
        data = b"[" + b",".join([text] * length) + b"]"
        write_folder(tmp_path, f"{17000000000 + number}-talk", data)
    folders = list_disk_conversations(tmp_path)
    with reader_pool.read_ahead(folders) as readings:
        next(readings)
        assert worker_processes == [], "the first has fewer"
        assert [*readings] == [reader.parse_conversation(folder) for folder in folders[1:]]
    assert len(worker_processes) == count


def test_read_ahead_starts_a_process_for_many_elements(
    root: Path, worker_processes: list[Any], monkeypatch: pytest.MonkeyPatch
):
    let_much_be(monkeypatch, MUCH, len(KINDS) - 1)
    with reader_pool.read_ahead(list_disk_conversations(root)[:1]) as readings:
        assert next(readings).stream is not None
    assert len(worker_processes) == 1


def test_reader_process_has_low_priority(root: Path, worker_processes: list[Any]):
    with reader_pool.read_ahead(list_disk_conversations(root)) as readings:
        next(readings)
        (process, *_) = worker_processes
        niceness = os.getpriority(os.PRIO_PROCESS, process.pid)
        assert niceness == programs.compute_niceness(reader_pool.NICENESS)


@pytest.mark.proof  # no Linux lacks it
def test_read_ahead_without_cpu_affinity_counts_the_processors(
    root: Path, worker_processes: list[Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with reader_pool.read_ahead(list_disk_conversations(root)) as readings:
        next(readings)
        assert len(worker_processes) == 1


def test_a_worker_knows_no_django():
    program = "import sys, jpweb.store.jp_files.reader_pool; sys.exit('django' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_reader_process_imports_nothing_from_the_working_directory(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "msgspec.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    with reader_pool.read_ahead(list_disk_conversations(root)) as readings:
        monkeypatch.setattr(reader, "parse_conversation", None)
        assert len(list(readings)) == MANY + 2


PROGRAM = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
from pathlib import Path
from jpweb.store.jp_files import reader_pool, workspace
reader_pool.MIN_POOL_BYTES = 1
os.sched_getaffinity = lambda pid: {0, 1, 2}
root = workspace.find_workspace(Path(sys.argv[1]))
found = list(workspace.iterate_conversations(root))
with reader_pool.read_ahead(found) as readings:
    next(readings)
    print("reading", flush=True)
    sys.stdin.read()
"""


def children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in listed]


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@pytest.fixture
def parent(root: Path) -> Iterator[subprocess.Popen[str]]:
    """A process in the midst of reading, in a process group as a terminal would give it."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(root)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, process_group=0,
    ) as process:  # fmt: skip
        try:
            assert process.stdout
            assert process.stdout.readline() == "reading\n"
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("ending", [signal.SIGKILL, *mark_proof(signal.SIGINT, signal.SIGTERM)])
def test_reader_process_ends_with_its_parent(parent: subprocess.Popen[str], ending: signal.Signals):
    crew = children(parent.pid)
    assert len(crew) == 2
    os.killpg(parent.pid, ending)  # as Ctrl-C does: everything in the group
    stderr = parent.communicate(timeout=20)[1]
    wait_until(lambda: not any(map(alive, crew)), "no worker lives")
    assert stderr.count("Traceback") == (ending == signal.SIGINT), "the parent's own, no worker's"


@pytest.mark.django_db
def test_a_little_workspace_that_is_new_is_written_whole_or_not_at_all(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(journal, "replace_rows", broken)
    with pytest.raises(ZeroDivisionError):
        mirror.mirror_workspace(root)
    assert not Workspace.objects.exists()
    monkeypatch.undo()
    assert mirror.mirror_workspace(root)[1].changed_ids

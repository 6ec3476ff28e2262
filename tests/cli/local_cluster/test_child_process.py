from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from jpweb.cli.local_cluster.child_process import (
    ChildProcess,
    NotReady,
    ProcessExited,
    run_supervised,
    wait_until_ready,
)
from jpweb.runtime import supervisor, tasks

SOON = 10


def python(code: str, lines: list[str], folder: Path, **options: object) -> ChildProcess:
    return ChildProcess("child", [sys.executable, "-c", code], lines.append, folder, **options)  # type: ignore[arg-type]  # passed on


async def eventually(condition: object) -> None:
    async with asyncio.timeout(SOON):
        while not condition():  # type: ignore[operator]  # noqa: ASYNC110  lines come from a process
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("raise SystemExit(3)", "ended with code 3"),
        ("import os; os.kill(os.getpid(), 9)", "killed by signal 9"),
    ],
)
async def test_process_that_exits_raises_how_it_ended(tmp_path: Path, code: str, end: str):
    with pytest.raises(ProcessExited, match=end):
        await python(code, [], tmp_path).run_process()


async def test_child_process_reports_all_lines_of_output(tmp_path: Path):
    lines: list[str] = []
    with pytest.raises(ProcessExited):
        await python("print('one\\n' + 'x' * 9000, end='\\nlast')", lines, tmp_path).run_process()
    assert lines[1:] == ["one", "x" * 9000, "last"]
    assert lines[0].startswith("Process ")


async def test_child_process_that_exits_is_reported_and_restarted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(supervisor, "MIN_BACKOFF_SECONDS", 0.01)
    lines: list[str] = []
    notices: list[str] = []
    child = python("import time; print('up', flush=True); time.sleep(60)", lines, tmp_path)
    async with run_supervised([child], notices.append):
        await eventually(lambda: lines.count("up") == 1)
        os.kill(int(lines[0].removeprefix("Process ").rstrip(".")), signal.SIGKILL)
        await eventually(lambda: lines.count("up") == 2)
    assert notices == ["child: killed by signal 9. Restarting in 0.01 s."]


async def test_child_process_stops_by_its_signal_and_reports_last_lines(tmp_path: Path):
    lines: list[str] = []
    code = """
import signal, sys, time
def end(*_):
    print('ending'); sys.exit(0)
signal.signal(signal.SIGINT, end)
print('up', flush=True); time.sleep(60)
"""
    async with run_supervised(
        [python(code, lines, tmp_path, stop_signal=signal.SIGINT)], lines.append
    ):
        await eventually(lambda: "up" in lines)
    assert lines[-1] == "ending"


async def test_slow_child_is_waited_for_although_it_is_cancelled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tasks, "CANCEL_AGAIN_SECONDS", 0.05)
    lines: list[str] = []
    code = """
import signal, sys, time
def end(*_):
    time.sleep(0.5); print('ended'); sys.exit(0)
signal.signal(signal.SIGTERM, end)
print('up', flush=True); time.sleep(60)
"""
    async with run_supervised([python(code, lines, tmp_path)], lines.append):
        await eventually(lambda: "up" in lines)
    assert lines[-1] == "ended"


async def test_child_process_that_ignores_its_signal_is_killed(tmp_path: Path):
    lines: list[str] = []
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True)\n"
    code += "while True: time.sleep(60)"
    async with run_supervised(
        [python(code, lines, tmp_path, stop_timeout_seconds=0.2)], lines.append
    ):
        await eventually(lambda: "up" in lines)
    pid = int(lines[0].removeprefix("Process ").rstrip("."))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_wait_until_ready_names_the_program_that_is_not_ready():
    async def never_ready() -> bool:
        return False

    with pytest.raises(NotReady, match=r"The kettle was not ready within 0\.05 s"):
        await wait_until_ready(never_ready, "The kettle", 0.05)

"""A server that shuts down leaves runs to the next one."""

from __future__ import annotations

import asyncio

import pytest

from jpweb.cli.management.commands import serve
from jpweb.runtime import runs
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.execution import run_executor
from jpweb.store.models import Run
from tests.runtime import providers
from tests.runtime.playing import Scene, eventually


@pytest.fixture(autouse=True)
def running_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo the shutdown after the test: all tests share a process."""
    monkeypatch.setattr(run_executor, "_shutdown_event", asyncio.Event())


async def find_state(run: Run) -> str:
    return (await run_in_db_thread(Run.objects.get, pk=run.pk)).state


async def is_quiet() -> bool:
    return not run_executor._background_tasks.is_busy


async def test_server_in_shutdown_does_not_restart_released_runs(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    provider = providers.Hangs()
    providers.use_provider(monkeypatch, provider)
    run, _ = await scene.start()
    await provider.said_event.wait()
    await serve._release_all()
    await run_executor.check_and_recover()  # the poll goes on until the event loop ends
    await eventually(is_quiet)
    assert run_executor._active_runs == {}
    assert await find_state(run) == "queued"


async def test_message_during_the_shutdown_is_left_to_the_next_server(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch, providers.Says())
    await serve._release_all()
    run = await runs.start_turn(scene.conversation, scene.ada, "Begin")
    assert run_executor._active_runs == {}
    assert await find_state(run) == "queued"
    monkeypatch.setattr(run_executor, "_shutdown_event", asyncio.Event())
    await run_executor.check_and_recover()
    await eventually(is_quiet)
    assert await find_state(run) == "done"

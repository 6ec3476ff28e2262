"""Runs that this process is acquiring while it lets go of all: before their turns begin."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from jpweb.agent.turn import make_opening_events
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.execution import run_executor
from jpweb.store import runs as stored
from jpweb.store.database import clock
from jpweb.store.jp_files import attachments
from jpweb.store.models import Run
from jpweb.store.run_queue import leases
from tests.runtime import providers
from tests.runtime.playing import SOON, Scene


class Gate:
    """Holds a function in its thread after its work, until ``go_on`` is set."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._enter_event, self.go_on = threading.Event(), threading.Event()

    def __call__(self, *arguments: Any) -> Any:
        result = self._function(*arguments)
        self._enter_event.set()
        assert self.go_on.wait(SOON)
        return result

    async def wait_until_held(self) -> None:
        assert await asyncio.to_thread(self._enter_event.wait, SOON)


class Files:
    """Attached files that tell when they are released."""

    def __init__(self) -> None:
        self.release_event = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def release(self) -> None:
        self._loop.call_soon_threadsafe(self.release_event.set)


async def queue_run(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a queued run that would reach no end."""
    providers.use_provider(monkeypatch, providers.Hangs())
    events = make_opening_events("Begin", None, clock.now())
    return await run_in_db_thread(
        stored.start_run, scene.conversation.pk, scene.ada.pk, "scripted", "", events
    )


async def reload(run: Run) -> Run:
    return await run_in_db_thread(Run.objects.get, pk=run.pk)


async def test_run_released_while_its_lease_is_acquired_is_queued(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    run = await queue_run(scene, monkeypatch)
    gate = Gate(leases.acquire_lease)
    monkeypatch.setattr(leases, "acquire_lease", gate)
    run_executor._start_run(run.pk)
    await gate.wait_until_held()
    release = asyncio.create_task(run_executor.release_all())
    for _ in range(10):
        await asyncio.sleep(0)
    gate.go_on.set()
    await asyncio.wait_for(release, SOON)
    row = await reload(run)
    assert (row.state, row.holder, row.fence) == ("queued", "", 1)


async def test_run_released_while_attaching_files_is_queued_and_frees_them(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    run, files = await queue_run(scene, monkeypatch), Files()
    gate = Gate(lambda _conversation_id: files)
    monkeypatch.setattr(attachments, "attach_files", gate)
    run_executor._start_run(run.pk)
    await gate.wait_until_held()
    await asyncio.wait_for(run_executor.release_all(), SOON / 2)
    row = await reload(run)
    assert (row.state, row.holder, row.fence) == ("queued", "", 1)
    gate.go_on.set()
    await asyncio.wait_for(files.release_event.wait(), SOON)


async def test_run_abandoned_while_its_files_are_attached_does_not_begin(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    run, files = await queue_run(scene, monkeypatch), Files()
    gate = Gate(lambda _conversation_id: files)
    monkeypatch.setattr(attachments, "attach_files", gate)
    execution = asyncio.create_task(run_executor.execute_run(run.pk))
    await gate.wait_until_held()
    run_executor.abandon_all()
    gate.go_on.set()
    await asyncio.wait_for(execution, SOON)
    await asyncio.wait_for(files.release_event.wait(), SOON)
    assert (await reload(run)).state == "running", "it is another's once its lease has expired"

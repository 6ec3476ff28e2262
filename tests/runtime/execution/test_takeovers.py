"""Runs whose process ended while their calls waited for people, in the next process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from jpweb.agent.config import ApprovalMode
from jpweb.runtime import process_identity, wiring
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.execution import run_executor
from jpweb.runtime.inquiries import resolution
from jpweb.store.models import Approval
from jpweb.store.run_queue import leases
from tests.runtime.execution.test_parking import Clerk, approve, results, use, wait_until_ended
from tests.runtime.playing import SOON, Scene
from tests.store.making import decider


class Opening:
    """Holds the resources of a turn back; ``start_event`` is set once a turn asks for them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.start_event, self.go_on = asyncio.Event(), asyncio.Event()
        self._open_resources = wiring.open_turn_resources
        monkeypatch.setattr(wiring, "open_turn_resources", self.open)

    @asynccontextmanager
    async def open(self, *arguments: Any) -> AsyncIterator[Any]:
        self.start_event.set()
        await self.go_on.wait()
        async with self._open_resources(*arguments) as resources:
            yield resources


async def test_answer_after_the_acquisition_resumes_the_call_that_waited(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    clerk = Clerk(secret=False)
    use(monkeypatch, clerk, ApprovalMode.ASK)
    run, task = await scene.start()
    await approve(scene)
    row = await scene.get_question()
    run_executor.abandon_all()
    await asyncio.gather(task, return_exceptions=True)
    await run_in_db_thread(leases.expire_installation, process_identity.get_installation_name())
    opening = Opening(monkeypatch)
    await run_executor.check_and_recover()
    await asyncio.wait_for(opening.start_event.wait(), SOON)
    await resolution.answer_inquiry(row.pk, "true", decider(scene.ada))
    opening.go_on.set()
    assert (await wait_until_ended(run)).state == "done"
    (response,) = results(await scene.elements())
    assert "again" not in response.note, "nothing of it was cut off"
    assert clerk.end_count == 1
    assert await run_in_db_thread(Approval.objects.count) == 1

"""Restarts of the calls of runs that are parked before them, or after."""

from __future__ import annotations

import pytest
from django.conf import settings

from jpweb.agent.config import ApprovalMode
from jpweb.runtime import process_identity
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.execution import run_executor
from jpweb.runtime.inquiries import approvals, resolution
from jpweb.store.models import Approval, Run, RunInterrupt
from jpweb.store.run_queue import leases
from jpweb.stream.inquiry import InquiryRequest
from tests.runtime.execution.test_delivered_interrupts import fail_once
from tests.runtime.execution.test_parking import (
    Clerk,
    approve,
    begin_again,
    decide,
    get_open_approval,
    get_open_inquiry,
    parked,
    use,
    wait_until_ended,
    wait_until_working,
)
from tests.runtime.playing import Scene, wait_for_task
from tests.store.making import decider


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "PARK_AFTER_SECONDS", 0.01)


async def answer_parked(scene: Scene, run: Run) -> None:
    """Answer the question of a parked run."""
    await parked(run)
    row = await get_open_inquiry(scene)
    await resolution.answer_inquiry(row.pk, "true", decider(scene.ada))


async def test_restart_discards_earlier_answers_also_once_the_run_is_parked(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    clerk = Clerk(secret=False, is_slow=True, is_careful=True)
    use(monkeypatch, clerk)
    run, _ = await scene.start()
    await answer_parked(scene, run)
    await answer_parked(scene, run)
    await wait_until_working(clerk)
    await begin_again(scene, run, "restart")
    await answer_parked(scene, run)
    await answer_parked(scene, run)
    assert (await wait_until_ended(run)).state == "done"
    requests = [e.kind.id for e in await scene.elements() if isinstance(e.kind, InquiryRequest)]
    assert [name.partition(".")[2] for name in requests] == ["go.1", "sure.1", "go.2", "sure.2"]
    assert clerk.end_count == 2


async def test_restart_whose_process_ends_before_calls_stop_holds_in_the_next(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    clerk = Clerk(secret=False, is_slow=True)
    use(monkeypatch, clerk)
    run, _ = await scene.start()
    await answer_parked(scene, run)
    await wait_until_working(clerk)
    task = run_executor._active_runs[run.pk].task
    assert task is not None
    fail_once(monkeypatch, "restart_calls")
    await begin_again(scene, run, "restart")
    await wait_for_task(task)
    await run_in_db_thread(leases.expire_installation, process_identity.get_installation_name())
    await run_executor.check_and_recover()
    await answer_parked(scene, run)
    assert (await wait_until_ended(run)).state == "done"
    assert clerk.end_count == 2
    assert not await run_in_db_thread(RunInterrupt.objects.filter(handled_at=None).exists)


async def test_restart_of_a_parked_run_withdraws_the_question_of_a_gated_call(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    clerk = Clerk(secret=False)
    use(monkeypatch, clerk, ApprovalMode.ASK)
    run, _ = await scene.start()
    await approve(scene)
    await parked(run)
    row = await get_open_inquiry(scene)
    await begin_again(scene, run, "restart")
    await get_open_approval()
    await parked(run)
    row = await scene.reload(row)
    assert (row.state, row.reason, row.decider_id) == ("cancelled", "user", scene.ada.pk)
    await decide(scene, approvals.ApprovalVerdict(False))
    assert (await wait_until_ended(run)).state == "done"
    assert clerk.end_count == 0
    assert await run_in_db_thread(Approval.objects.filter(was_applied=True).count) == 2

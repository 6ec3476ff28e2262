"""Real tools whose run is parked at every wait: nothing runs twice, and nobody is asked twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings

from jpweb.agent.tool_calls import model_messages
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.execution import run_executor
from jpweb.runtime.inquiries import approvals, resolution
from jpweb.runtime.inquiries.approvals import ApprovalVerdict
from jpweb.store import approvals as rows
from jpweb.store import runs
from jpweb.store.choices import InterruptKind
from jpweb.store.models import CallCheckpoint, Inquiry, Run
from tests.machine.vendors import Call, Reply, run_vendor
from tests.runtime.playing import eventually
from tests.runtime.scenarios.talking import DONE
from tests.runtime.scenarios.workshop import Workshop
from tests.store.making import decider

WILD = Reply(Call("wild", {}, "call_1"))
BOTH = Reply(Call("wild", {}, "call_1"), Call("deploy", {"service": "blog"}, "call_2"))


async def wait_until_run_is_parked(shop: Workshop) -> None:
    async def parked() -> bool:
        parked_runs = Run.objects.filter(conversation=shop.conversation, state="parked")
        return await run_in_db_thread(parked_runs.exists) and not run_executor._active_runs

    await eventually(parked)


async def get_open_question(shop: Workshop, question_id: str) -> Inquiry:
    rows = Inquiry.objects.filter(conversation=shop.conversation, state="open")
    (row,) = [
        inquiry
        for inquiry in await run_in_db_thread(list, rows)
        if question_id in inquiry.inquiry_id
    ]
    return row


def runs_of(tally: Path) -> int:
    return len(tally.read_text().splitlines()) if tally.exists() else 0


async def test_turn_that_is_parked_at_every_wait_ends_as_one_that_is_not(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(settings, "PARK_AFTER_SECONDS", 0.01)
    tally = shop.root / "tally"
    (shop.root / "tools" / "wild.sh").write_text(f"echo x >> {tally}; echo 'Wild as can be.'\n")
    with run_vendor("openai", [BOTH, DONE]) as standin:
        await run_in_db_thread(shop.play, standin)
        await shop.start()
        await wait_until_run_is_parked(shop)
        permission = await shop.prompted()
        await approvals.decide_approval(
            permission.pk, ApprovalVerdict(allow=True), decider(shop.eve)
        )
        await wait_until_run_is_parked(shop)
        assert runs_of(tally) == 1
        prompt = await shop.prompted()
        assert (prompt.kind, prompt.subject["content"]) == ("deliver", "Wild as can be.\n")
        confirm = await get_open_question(shop, ".confirm.")
        await resolution.answer_inquiry(confirm.pk, "false", decider(shop.ada))
        await wait_until_run_is_parked(shop)
        assert await run_in_db_thread(CallCheckpoint.objects.filter(delivered=True).count) == 1
        await approvals.decide_approval(prompt.pk, ApprovalVerdict(allow=True), decider(shop.eve))

        async def find_ended() -> Run | None:
            ended_runs = Run.objects.filter(conversation=shop.conversation, ended_at__isnull=False)
            return (
                await run_in_db_thread(ended_runs.first) if not run_executor._active_runs else None
            )

        run: Run = await eventually(find_ended)
    assert (run.state, run.resume_count) == ("done", 0)
    assert run.fence > 2, "it was parked and resumed"
    assert runs_of(tally) == 1
    assert [(r.id, r.content) for r in await shop.results()] == [
        ("call_1", "Wild as can be.\n"),
        ("call_2", "Not deployed."),
    ]
    notes = [event.note for event in await shop.events() if event.kind.TAG == "tool_call_response"]
    assert not any("again" in note for note in notes)
    assert not await run_in_db_thread(CallCheckpoint.objects.exists)
    lines = await shop.list_lines()
    assert len([line for line in lines if line.startswith("ask ")]) == 1


async def test_decision_before_a_reply_holds_for_no_later_call_of_its_id(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
):
    """The vendor gives each reply's calls the same ids; the store alone queues the run."""
    monkeypatch.setattr(settings, "PARK_AFTER_SECONDS", 0.01)
    tally = shop.root / "tally"
    (shop.root / "tools" / "wild.sh").write_text(f"echo x >> {tally}; echo 'Wild.'\n")
    with run_vendor("openai", [WILD, WILD, DONE]) as standin:
        await run_in_db_thread(shop.play, standin)
        run, _ = await shop.start()
        await wait_until_run_is_parked(shop)
        permission = await shop.prompted()
        ada, eve = decider(shop.ada), decider(shop.eve)
        await run_in_db_thread(rows.decide_approval, permission.pk, {"allow": True}, ada)
        reply = (shop.conversation.pk, InterruptKind.RESPOND, eve, "No, wait.")
        await run_in_db_thread(runs.interrupt_run, *reply)
        await shop.resume(run)
        await wait_until_run_is_parked(shop)
        later_permission = await shop.prompted()
        assert (later_permission.kind, later_permission.tool_call_id) == ("run", "call_1")
        await approvals.decide_approval(later_permission.pk, ApprovalVerdict(False), eve)

        async def is_done() -> bool:
            return (await shop.row(run)).state == "done" and not run_executor._active_runs

        await eventually(is_done)
    assert later_permission.pk != permission.pk
    assert runs_of(tally) == 0
    assert [(r.id, r.content) for r in await shop.results()] == [
        ("call_1", model_messages.describe_response("No, wait.")),
        ("call_1", model_messages.SKIPPED),
    ]

"""The prompter: it waits for a person, and withdraws questions."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from jpweb.agent.ports import Answer, Declined, QuestionPrompt
from jpweb.agent.tool_outcome import Question
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import resolution
from jpweb.runtime.inquiries.prompter import BrowserPrompter
from jpweb.store.choices import Act
from jpweb.store.inquiries import Decider
from jpweb.store.models import LedgerEntry
from jpweb.stream.answer_type import Boolean, Secret
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled, InquirySource, Redacted
from tests.runtime.playing import Scene, start_waiting, wait_for_task
from tests.store import making


def make_prompt(inquiry_id: str) -> QuestionPrompt:
    return QuestionPrompt(
        inquiry_id, Question("q", "Go on?", Boolean()), InquirySource.for_tool("t"), "t", None
    )


async def test_prompter_returns_the_outcome_of_its_question(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(resolution, "ROW_POLL_SECONDS", 0.01)
    row = await scene.question()
    prompter = BrowserPrompter(scene.conversation.pk, scene.workspace.pk, lambda: Decider("system"))
    for outcome, reply in (
        (Answered(False), Answer(False)),
        (Cancelled(CancellationReason.USER), Declined(CancellationReason.USER)),
        (Cancelled(CancellationReason.LOST), Declined(CancellationReason.LOST)),
    ):
        row = await scene.question()
        call = await start_waiting(row, lambda row: prompter.ask(make_prompt(row.inquiry_id)))
        await run_in_db_thread(making.settle, row, outcome)
        assert await wait_for_task(call) == reply


async def test_a_question_is_withdrawn_once(scene: Scene):
    row = await scene.question()
    by = making.decider(scene.eve)
    prompter = BrowserPrompter(scene.conversation.pk, scene.workspace.pk, lambda: by)
    await prompter.withdraw(make_prompt(row.inquiry_id), CancellationReason.USER)
    row = await scene.reload(row)
    assert (row.state, row.reason, row.decider_name) == ("cancelled", "user", "Eve")
    length = len(await scene.elements())
    await prompter.withdraw(make_prompt(row.inquiry_id), CancellationReason.LOST)
    assert len(await scene.elements()) == length
    assert (await scene.reload(row)).reason == "user"


async def test_question_that_a_reply_interrupts_has_the_reply_on_record(scene: Scene):
    row = await scene.question()
    prompter = BrowserPrompter(
        scene.conversation.pk,
        scene.workspace.pk,
        lambda: making.decider(scene.eve),
        get_reply=lambda: " Leave it. ",
    )
    await prompter.withdraw(make_prompt(row.inquiry_id), CancellationReason.USER)
    row = await scene.reload(row)
    assert (row.note, row.channel) == ("Leave it.", "reply")
    (event,) = (await scene.elements())[-1].events
    by = {"kind": "person", "name": "Eve", "id": scene.eve.pk}
    assert event.note == {"by": by, "withdrawn": True, "replied": True, "note": "Leave it."}


async def test_prompter_withdraws_a_lost_question_as_the_system(scene: Scene):
    row = await scene.question()
    earlier_interrupter = making.decider(scene.eve)
    prompter = BrowserPrompter(
        scene.conversation.pk, scene.workspace.pk, lambda: earlier_interrupter
    )
    await prompter.withdraw(make_prompt(row.inquiry_id), CancellationReason.LOST)
    row = await scene.reload(row)
    assert (row.reason, row.decided_by, row.decider_name) == ("lost", "system", "")
    (event,) = (await scene.elements())[-1].events
    assert event.note == {"by": {"kind": "system"}, "withdrawn": True}
    entry = await run_in_db_thread(
        LedgerEntry.objects.get, act=Act.INQUIRY_CANCELLED, subject=f"inquiry:{row.pk}"
    )
    assert entry.person_id is None


async def test_secret_that_went_to_an_ended_call_is_lost_and_not_declined(scene: Scene):
    row = await scene.question(Secret())
    await run_in_db_thread(making.settle, row, Redacted())
    prompter = BrowserPrompter(scene.conversation.pk, scene.workspace.pk, lambda: Decider("system"))
    prompt = replace(
        make_prompt(row.inquiry_id), question=Question("q", "What is the word?", Secret())
    )
    reply = await wait_for_task(asyncio.create_task(prompter.ask(prompt)))
    assert reply == Declined(CancellationReason.LOST)

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import resolution
from jpweb.runtime.periodic import expire_inquiries
from jpweb.store.errors import AlreadySettled, UnknownConversation
from jpweb.store.models import Conversation, Inquiry, Run, Workspace
from jpweb.stream.answer_type import Secret
from jpweb.stream.events import ChatResponse, ToolCallResponse
from jpweb.stream.inquiry import CancellationReason, Cancelled, InquiryResponse
from tests.runtime import providers
from tests.runtime.playing import Scene, eventually, start_waiting, wait_for_task
from tests.store import making
from tests.store.making import decider

OVER = ("cancelled", "expired", "system", None)


async def make_expired_question(scene: Scene, *kind: Any) -> Inquiry:
    """Return an open question whose time is over."""
    row = await scene.question(*kind)
    await lapse(row)
    return row


async def lapse(row: Inquiry) -> None:
    past = datetime.now(UTC) - timedelta(seconds=1)
    await run_in_db_thread(Inquiry.objects.filter(pk=row.pk).update, expires_at=past)


def ending(row: Inquiry) -> tuple[Any, ...]:
    return row.state, row.reason, row.decided_by, row.answer


async def test_expire_due_inquiries_cancels_unanswered_questions(scene: Scene):
    row, other_row = await make_expired_question(scene), await scene.question()
    before = await scene.elements()
    assert await expire_inquiries.expire_due_inquiries() == 1
    row = await scene.reload(row)
    assert ending(row) == OVER
    assert row.decider is None
    assert (await scene.reload(other_row)).state == "open"
    (element,) = (await scene.elements())[len(before) :]
    assert element.kind == InquiryResponse(row.inquiry_id, Cancelled(CancellationReason.EXPIRED))
    assert [event.note for event in element.events] == [{"by": {"kind": "system"}}]
    assert await expire_inquiries.expire_due_inquiries() == 0


async def test_expire_due_inquiries_covers_several_batches(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(expire_inquiries, "BATCH_SIZE", 2)
    rows = [await make_expired_question(scene) for _ in range(5)]
    assert await expire_inquiries.expire_due_inquiries() == 5
    assert {ending(await scene.reload(row)) for row in rows} == {OVER}


async def test_the_waiting_call_is_woken(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(resolution, "ROW_POLL_SECONDS", 3600)
    row = await make_expired_question(scene)
    call = await start_waiting(row, resolution.wait_for_settled_row)
    await expire_inquiries.expire_due_inquiries()
    assert ending(await wait_for_task(call)) == OVER


async def test_a_secret_question_expires_as_any_other(scene: Scene):
    row = await make_expired_question(scene, Secret())
    call = await start_waiting(row, resolution.wait_for_secret)
    await expire_inquiries.expire_due_inquiries()
    assert ending(await wait_for_task(call)) == OVER
    with pytest.raises(AlreadySettled):
        await resolution.answer_inquiry(row.pk, "too late", decider(scene.ada))
    assert "too late" not in await scene.texts()


async def test_answer_after_expiry_is_refused_as_expired(scene: Scene):
    row = await make_expired_question(scene)
    await expire_inquiries.expire_due_inquiries()
    with pytest.raises(AlreadySettled) as error:
        await resolution.answer_inquiry(row.pk, "true", decider(scene.ada))
    assert ending(error.value.inquiry) == OVER


async def test_expire_due_inquiries_keeps_an_earlier_answer(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """Ada answers after it was found to be due, before it is settled."""
    caplog.set_level(logging.WARNING)
    row = await make_expired_question(scene)
    settle = resolution.settle_inquiry

    async def settle_late(*args: Any) -> Inquiry:
        monkeypatch.setattr(resolution, "settle_inquiry", settle)
        await resolution.answer_inquiry(row.pk, "true", decider(scene.ada))
        return await settle(*args)

    monkeypatch.setattr(resolution, "settle_inquiry", settle_late)
    assert await expire_inquiries.expire_due_inquiries() == 0
    row = await scene.reload(row)
    assert (row.state, row.answer, row.decider_name) == ("answered", True, "Ada")
    assert not [record for record in caplog.records if record.name == expire_inquiries.__name__]


async def test_concurrent_answer_and_expiry_settle_a_question_once(scene: Scene):
    for _ in range(8):
        row = await make_expired_question(scene)
        before = len(await scene.elements())
        answer_result, expired = await asyncio.gather(
            resolution.answer_inquiry(row.pk, "true", decider(scene.ada)),
            expire_inquiries.expire_due_inquiries(),
            return_exceptions=True,
        )
        row = await scene.reload(row)
        assert len(await scene.elements()) == before + 1
        if expired:
            assert ending(row) == OVER
            assert isinstance(answer_result, AlreadySettled)
        else:
            assert (row.state, row.decider_name) == ("answered", "Ada")


async def test_concurrent_expire_due_inquiries_cancel_questions_once(scene: Scene):
    rows = [await make_expired_question(scene) for _ in range(4)]
    assert (
        sum(
            await asyncio.gather(
                expire_inquiries.expire_due_inquiries(), expire_inquiries.expire_due_inquiries()
            )
        )
        == 4
    )
    responses = [e for e in await scene.elements() if e.tag == "inquiry_response"]
    assert len(responses) == len(rows)


async def test_expire_due_inquiries_continues_after_a_failing_question(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.WARNING)
    first, second = await make_expired_question(scene), await make_expired_question(scene)
    settle = resolution.settle_inquiry

    async def broken(row: Inquiry, *args: Any) -> Inquiry:
        if row.pk == first.pk:
            raise UnknownConversation("This conversation is gone.")
        return await settle(row, *args)

    monkeypatch.setattr(resolution, "settle_inquiry", broken)
    assert await expire_inquiries.expire_due_inquiries() == 1
    assert ending(await scene.reload(second)) == OVER
    assert "This conversation is gone." in caplog.text


async def test_expired_questions_reach_the_model_and_the_turn_continues(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    """The script asks four questions, the last for a secret; nobody answers any of them."""
    providers.use_provider(monkeypatch)
    await run_in_db_thread(Workspace.objects.filter(pk=scene.workspace.pk).update, expires_after=60)
    run, task = await scene.start()
    limited = Inquiry.objects.filter(
        conversation=scene.conversation, state="open", expires_at__gt=datetime.now(UTC)
    )

    async def is_over() -> bool:
        await run_in_db_thread(limited.update, expires_at=datetime.now(UTC) - timedelta(seconds=1))
        await expire_inquiries.expire_due_inquiries()
        return task.done()

    await eventually(is_over)
    await task
    rows = await run_in_db_thread(list, Inquiry.objects.filter(conversation=scene.conversation))
    assert {row.answer_type for row in rows} == {"boolean", "select", "text", "secret"}
    assert {ending(row) for row in rows} == {OVER}
    results = [e.kind for e in await scene.elements() if isinstance(e.kind, ToolCallResponse)]
    assert len(results) == len(rows)
    for result in results:
        assert result.is_error
        assert "No one answered" in result.content
        assert "no one agreed" in result.content
    assert isinstance((await scene.elements())[-1].kind, ChatResponse)
    assert (await run_in_db_thread(Run.objects.get, pk=run.pk)).state == "done"


async def test_conversation_that_is_broken_is_logged_once_and_others_expire(
    scene: Scene, caplog: pytest.LogCaptureFixture
):
    broken = await make_expired_question(scene)
    await run_in_db_thread(
        Conversation.objects.filter(pk=scene.conversation.pk).update, entry_count=0
    )
    other_conversation = await run_in_db_thread(making.conversation, scene.workspace)
    run = await run_in_db_thread(making.start_run, other_conversation, scene.ada)
    row = await run_in_db_thread(making.question, run)
    await lapse(row)
    assert await expire_inquiries.expire_due_inquiries() == 1
    assert await expire_inquiries.expire_due_inquiries() == 0
    assert (await scene.reload(row)).state == "cancelled"
    assert (await scene.reload(broken)).state == "open"
    assert len([r for r in caplog.records if "could not be expired" in r.message]) == 1

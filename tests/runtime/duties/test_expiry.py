from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jpweb.runtime import desk
from jpweb.runtime.crossing import in_store
from jpweb.runtime.duties import expiry
from jpweb.store.errors import AlreadySettled, UnknownConversation
from jpweb.store.models import Conversation, Inquiry, Run, Workspace
from jpweb.stream.answers import Secret
from jpweb.stream.events import ChatResponse, ToolCallResponse
from jpweb.stream.inquiry import CancellationReason, Cancelled, InquiryResponse
from tests.runtime import providers
from tests.runtime.playing import Scene, done, eventually, waiting
from tests.store import making
from tests.store.making import decider

OVER = ("cancelled", "expired", "system", None)


async def due(scene: Scene, *kind: Any) -> Inquiry:
    """Return an open question whose time is over."""
    row = await scene.question(*kind)
    await lapse(row)
    return row


async def lapse(row: Inquiry) -> None:
    past = datetime.now(UTC) - timedelta(seconds=1)
    await in_store(Inquiry.objects.filter(pk=row.pk).update, expires_at=past)


def ending(row: Inquiry) -> tuple[Any, ...]:
    return row.state, row.reason, row.decided_by, row.answer


async def test_what_nobody_answers_in_time_is_cancelled_as_expired(scene: Scene):
    row, other = await due(scene), await scene.question()
    before = await scene.elements()
    assert await expiry.expire_due() == 1
    row = await scene.reload(row)
    assert ending(row) == OVER
    assert row.decider is None
    assert (await scene.reload(other)).state == "open"
    (made,) = (await scene.elements())[len(before) :]
    assert made.kind == InquiryResponse(row.inquiry_id, Cancelled(CancellationReason.EXPIRED))
    assert [event.note for event in made.events] == [{"by": {"kind": "system"}}]
    assert await expiry.expire_due() == 0


async def test_all_expire_however_many_there_are(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(expiry, "BATCH", 2)
    rows = [await due(scene) for _ in range(5)]
    assert await expiry.expire_due() == 5
    assert {ending(await scene.reload(row)) for row in rows} == {OVER}


async def test_the_waiting_call_is_woken(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(desk, "LOOK_AGAIN", 3600)
    row = await due(scene)
    call = await waiting(row, desk.wait)
    await expiry.expire_due()
    assert ending(await done(call)) == OVER


async def test_a_secret_question_expires_as_any_other(scene: Scene):
    row = await due(scene, Secret())
    call = await waiting(row, desk.wait_for_secret)
    await expiry.expire_due()
    assert ending(await done(call)) == OVER
    with pytest.raises(AlreadySettled):
        await desk.answer(row.pk, "too late", decider(scene.ada))
    assert "too late" not in await scene.texts()


async def test_who_answers_too_late_hears_that_it_expired(scene: Scene):
    row = await due(scene)
    await expiry.expire_due()
    with pytest.raises(AlreadySettled) as told:
        await desk.answer(row.pk, "true", decider(scene.ada))
    assert ending(told.value.inquiry) == OVER


async def test_an_answer_that_was_first_stands(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """Ada answers after it was found to be due, before it is settled."""
    caplog.set_level(logging.WARNING)
    row = await due(scene)
    settle = desk.settle

    async def late(*args: Any) -> Inquiry:
        monkeypatch.setattr(desk, "settle", settle)
        await desk.answer(row.pk, "true", decider(scene.ada))
        return await settle(*args)

    monkeypatch.setattr(desk, "settle", late)
    assert await expiry.expire_due() == 0
    row = await scene.reload(row)
    assert (row.state, row.answer, row.decider_name) == ("answered", True, "Ada")
    assert not [each for each in caplog.records if each.name == expiry.__name__]


async def test_of_an_answer_and_the_end_of_its_time_at_once_one_counts(scene: Scene):
    for _ in range(8):
        row = await due(scene)
        before = len(await scene.elements())
        answered, expired = await asyncio.gather(
            desk.answer(row.pk, "true", decider(scene.ada)),
            expiry.expire_due(),
            return_exceptions=True,
        )
        row = await scene.reload(row)
        assert len(await scene.elements()) == before + 1
        if expired:
            assert ending(row) == OVER
            assert isinstance(answered, AlreadySettled)
        else:
            assert (row.state, row.decider_name) == ("answered", "Ada")


async def test_two_processes_that_expire_at_once_do_it_once(scene: Scene):
    rows = [await due(scene) for _ in range(4)]
    assert sum(await asyncio.gather(expiry.expire_due(), expiry.expire_due())) == 4
    responses = [e for e in await scene.elements() if e.tag == "inquiry_response"]
    assert len(responses) == len(rows)


async def test_one_that_cannot_expire_does_not_keep_the_others(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.WARNING)
    first, second = await due(scene), await due(scene)
    settle = desk.settle

    async def broken(row: Inquiry, *args: Any) -> Inquiry:
        if row.pk == first.pk:
            raise UnknownConversation("This conversation is gone.")
        return await settle(row, *args)

    monkeypatch.setattr(desk, "settle", broken)
    assert await expiry.expire_due() == 1
    assert ending(await scene.reload(second)) == OVER
    assert "This conversation is gone." in caplog.text


async def test_the_model_is_told_and_the_turn_goes_on(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    """The script asks four questions, the last for a secret; nobody answers any of them."""
    providers.use(monkeypatch)
    await in_store(Workspace.objects.filter(pk=scene.home.pk).update, expires_after=60)
    run, task = await scene.start()
    limited = Inquiry.objects.filter(
        conversation=scene.talk, state="open", expires_at__gt=datetime.now(UTC)
    )

    async def over() -> bool:
        await in_store(limited.update, expires_at=datetime.now(UTC) - timedelta(seconds=1))
        await expiry.expire_due()
        return task.done()

    await eventually(over)
    await task
    rows = await in_store(list, Inquiry.objects.filter(conversation=scene.talk))
    assert {row.answer_type for row in rows} == {"boolean", "select", "text", "secret"}
    assert {ending(row) for row in rows} == {OVER}
    results = [e.kind for e in await scene.elements() if isinstance(e.kind, ToolCallResponse)]
    assert len(results) == len(rows)
    for result in results:
        assert result.is_error
        assert "Nobody answered" in result.content
        assert "nobody agreed" in result.content
    assert isinstance((await scene.elements())[-1].kind, ChatResponse)
    assert (await in_store(Run.objects.get, pk=run.pk)).state == "done"


async def test_conversation_that_is_broken_is_logged_once_and_others_expire(
    scene: Scene, caplog: pytest.LogCaptureFixture
):
    broken = await due(scene)
    await in_store(Conversation.objects.filter(pk=scene.talk.pk).update, length=0)
    other = await in_store(making.conversation, scene.home)
    run = await in_store(making.running, other, scene.ada)
    row = await in_store(making.question, run)
    await lapse(row)
    assert await expiry.expire_due() == 1
    assert await expiry.expire_due() == 0
    assert (await scene.reload(row)).state == "cancelled"
    assert (await scene.reload(broken)).state == "open"
    assert len([r for r in caplog.records if "cannot expire" in r.message]) == 1

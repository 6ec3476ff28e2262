from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jpweb.agent.outcome import Question
from jpweb.agent.ports import Answer, Asked
from jpweb.runtime import desk
from jpweb.runtime.crossing import in_store
from jpweb.runtime.prompter import BrowserPrompter
from jpweb.runtime.signals import announce
from jpweb.store import inquiries, journal
from jpweb.store.disk import mirror
from jpweb.store.errors import AlreadySettled, ReadOnly, UnknownInquiry
from jpweb.store.models import Inquiry, Run
from jpweb.stream.answers import Boolean, Option, Secret, Select, Text
from jpweb.stream.errors import Unfit
from jpweb.stream.inquiry import (
    Answered,
    AnswerReusePolicy,
    InquiryQuestion,
    InquiryRequest,
    InquiryResponse,
    InquirySource,
)
from tests.builders import asked
from tests.runtime.playing import Scene, done, ear, waiting
from tests.store import making
from tests.store.making import decider

CHOICE = Select((Option("red"), Option(2), Option({"deep": [True]})))


def leave_open(scene: Scene) -> tuple[Inquiry, Inquiry]:
    """Return a row that an interrupted turn left open, and one of a turn now, of the same id."""
    run = making.running(scene.talk, scene.ada)
    left = making.question(run)
    Run.objects.filter(pk=run.pk).update(state="done")
    later = making.running(scene.talk, scene.ada)
    journal.append(scene.talk.pk, [making.event(asked(left.inquiry_id))], later)
    Inquiry.objects.filter(pk=left.pk).update(state="open", run=None)
    return left, inquiries.get(Inquiry.objects.get(run=later).pk)


async def test_answer_reaches_the_call_that_waits_beside_an_older_row_of_its_id(scene: Scene):
    left, row = await in_store(leave_open, scene)
    call = await waiting(row, desk.wait)
    await desk.answer(row.pk, "true", decider(scene.ada))
    got = await done(call)
    assert (got.pk, got.state, got.answer) == (row.pk, "answered", True)
    assert (await scene.reload(left)).state == "open"


@pytest.mark.parametrize(
    ("kind", "typed", "value"),
    [
        (Boolean(), "true", True),
        (Boolean(), "false", False),
        (CHOICE, "red", "red"),
        (CHOICE, "2", 2),
        (CHOICE, '{"deep": [true]}', {"deep": [True]}),
        (Text(), "two\r\nlines", "two\nlines"),
        (Text(), "", ""),
    ],
)
async def test_the_waiting_call_gets_the_typed_value(
    scene: Scene, kind: Any, typed: str, value: Any
):
    row = await scene.question(kind)
    call = await waiting(row, desk.wait)
    settled = await desk.answer(row.pk, typed, decider(scene.ada))
    got = await done(call)
    assert (settled.state, settled.answer) == (got.state, got.answer) == ("answered", value)
    assert type(got.answer) is type(value)
    assert (settled.decider_id, settled.decider_name) == (scene.ada.pk, "Ada")
    last = (await scene.elements())[-1].kind
    assert last == InquiryResponse(row.inquiry_id, Answered(value))


async def test_an_answer_needs_no_call_that_waits_here(scene: Scene):
    """Another process may wait; the row tells it."""
    row = await scene.question()
    assert (await desk.answer(row.pk, "true", decider(scene.ada))).state == "answered"


@pytest.mark.parametrize(
    ("kind", "typed"), [(Boolean(), "yes"), (CHOICE, "blue"), (Text(), "\0"), (Secret(), "")]
)
async def test_what_does_not_fit_changes_nothing(scene: Scene, kind: Any, typed: str):
    row = await scene.question(kind)
    before = await scene.elements()
    with pytest.raises(Unfit):
        await desk.answer(row.pk, typed, decider(scene.ada))
    assert (await scene.reload(row)).state == "open"
    assert await scene.elements() == before


async def test_a_question_that_is_not_there_cannot_be_settled(scene: Scene):
    with pytest.raises(UnknownInquiry):
        await desk.answer(10**9, "true", decider(scene.ada))
    with pytest.raises(UnknownInquiry):
        await desk.decline(10**9, decider(scene.ada))


async def test_the_second_hears_who_was_first(scene: Scene):
    row = await scene.question()
    await desk.answer(row.pk, "true", decider(scene.ada))
    before = await scene.elements()
    for late in (
        desk.answer(row.pk, "false", decider(scene.eve)),
        desk.decline(row.pk, decider(scene.eve)),
    ):
        with pytest.raises(AlreadySettled) as told:
            await late
        assert told.value.inquiry.decider_name == "Ada"
    assert await scene.elements() == before
    assert (await scene.reload(row)).answer is True


async def test_of_many_at_once_one_wins(scene: Scene):
    row = await scene.question(Text())
    call = await waiting(row, desk.wait)
    tries = [desk.answer(row.pk, str(n), decider(scene.ada)) for n in range(8)]
    tries += [desk.decline(row.pk, decider(scene.eve)) for _ in range(8)]
    results = await asyncio.gather(*tries, return_exceptions=True)
    won = [result for result in results if isinstance(result, Inquiry)]
    lost = [result for result in results if isinstance(result, AlreadySettled)]
    assert (len(won), len(lost)) == (1, 15)
    assert (await done(call)).pk == won[0].pk
    responses = [e for e in await scene.elements() if e.tag == "inquiry_response"]
    assert len(responses) == 1


async def test_declining_is_an_outcome_of_its_own(scene: Scene):
    row = await scene.question()
    call = await waiting(row, desk.wait)
    settled = await desk.decline(row.pk, decider(scene.ada))
    got = await done(call)
    assert (settled.state, settled.reason) == (got.state, got.reason) == ("cancelled", "user")
    assert (settled.answer, settled.decider_name) == (None, "Ada")


async def test_a_question_of_a_mirrored_conversation_is_jps_own(scene: Scene):
    await in_store(mirror.mirror, mirror.DEMO, "Demo")
    found = Inquiry.objects.filter(conversation__origin="mirrored")
    row = await in_store(found.filter(answer_type="boolean").earliest, "pk")
    await in_store(found.filter(pk=row.pk).update, state="open")
    length = await in_store(making.length, row.conversation_id)
    for attempt in (
        desk.answer(row.pk, "true", decider(scene.ada)),
        desk.decline(row.pk, decider(scene.ada)),
    ):
        with pytest.raises(ReadOnly):
            await attempt
    assert await in_store(making.length, row.conversation_id) == length
    assert (await scene.reload(row)).state == "open"


async def test_settling_tells_the_pages(scene: Scene):
    row = await scene.question()
    async with (
        ear(announce.conversation_group(scene.talk.pk)) as reading,
        ear(announce.workspace_group(scene.home.pk)) as answering,
    ):
        await desk.answer(row.pk, "true", decider(scene.ada))
        assert await reading() == {"kind": "conversation"}
        assert await answering() == {"kind": "questions"}
        assert reading.take_all() == []
        assert answering.take_all() == []


async def test_a_lost_wake_up_costs_a_delay_alone(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(desk, "LOOK_AGAIN", 0.01)
    row = await scene.question()
    call = await waiting(row, desk.wait)
    await in_store(making.settle, row, Answered(True))  # as another process would
    assert (await done(call)).answer is True


async def test_a_wake_up_needs_no_look(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(desk, "LOOK_AGAIN", 3600)
    row = await scene.question()
    call = await waiting(row, desk.wait)
    await desk.answer(row.pk, "true", decider(scene.ada))
    assert (await done(call)).answer is True


async def test_the_waiting_call_goes_on_before_anybody_else_is_told(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    row = await scene.question()
    order: list[str] = []

    async def go_on(waited: Inquiry) -> None:
        await desk.wait(waited)
        order.append("went on")

    async def tell(_key: int) -> None:
        order.append("told")

    call = await waiting(row, go_on)
    monkeypatch.setattr(announce, "settled", tell)
    await desk.answer(row.pk, "true", decider(scene.ada))
    await done(call)
    assert order == ["went on", "told"]


async def test_others_are_told_although_who_answered_left_while_they_were(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    row = await scene.question()
    telling, told = asyncio.Event(), announce.settled

    async def stuck(_key: int) -> None:
        monkeypatch.setattr(announce, "settled", told)
        telling.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(announce, "settled", stuck)
    async with ear(announce.workspace_group(scene.home.pk)) as answering:
        sending = asyncio.create_task(desk.answer(row.pk, "true", decider(scene.ada)))
        await telling.wait()
        assert answering.take_all() == []
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        assert await answering()
    assert (await scene.reload(row)).state == "answered"


async def test_what_is_settled_before_anybody_waits_is_seen_at_once(scene: Scene):
    row = await scene.question()
    await desk.answer(row.pk, "true", decider(scene.ada))
    assert (await asyncio.wait_for(desk.wait(row), 5)).answer is True


async def test_a_call_that_stops_waiting_leaves_the_question_open(scene: Scene):
    row = await scene.question()
    call = await waiting(row, desk.wait)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await scene.reload(row)).state == "open"


FOR_THE_TURN = asked("call_1.again.1", "Again?", type=Boolean())
ONCE = InquiryRequest(
    "call_1.once.1",
    InquirySource.tool("vault"),
    InquiryQuestion("Once?", Boolean(), persistence=AnswerReusePolicy.NONE),
)


@pytest.mark.parametrize(
    ("request_", "typed", "kept"),
    [
        (FOR_THE_TURN, "true", True),
        (FOR_THE_TURN, "false", True),
        (ONCE, "true", False),
        (asked("call_1.text.1", "Name?", type=Text()), "Rose", False),
        (asked("call_1.choice.1", "Which?", type=CHOICE), "red", False),
    ],
)
async def test_an_answer_is_remembered_where_the_question_allows_it(
    scene: Scene, request_: Any, typed: str, kept: bool
):
    run = await in_store(making.running, scene.talk, scene.ada)
    await in_store(journal.append, scene.talk.pk, [making.event(request_)], run)
    row = await in_store(inquiries.by_stream_id, scene.talk.pk, request_.id)
    settled = await desk.answer(row.pk, typed, decider(scene.ada), remember=True)
    (event,) = (await scene.elements())[-1].events
    assert event.note.get("remember") is (True if kept else None)
    asks = Asked(request_.id, Question("q", "?", Boolean()), InquirySource.tool("vault"), "v", None)
    # As after a restart: who asks now is not who asked then.
    given = await BrowserPrompter(scene.talk.pk, scene.home.pk, lambda: decider(scene.ada)).ask(
        asks
    )
    assert given == Answer(settled.answer, remember=kept)


async def test_an_answer_counts_once_unless_somebody_says_otherwise(scene: Scene):
    row = await scene.question(Boolean())
    await desk.answer(row.pk, "true", decider(scene.ada))
    assert await in_store(inquiries.remembered, await scene.reload(row)) is False


async def test_a_call_of_this_process_has_what_is_on_record_without_a_look(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    row = await scene.question()
    call = await waiting(row, desk.ended)
    monkeypatch.setattr(inquiries, "ended", lambda _key: pytest.fail("it looked"))
    await desk.answer(row.pk, "true", decider(scene.ada), remember=True)
    found = await done(call)
    assert (found.row.answer, found.remembered) == (True, True)
    assert found.row.response_position is not None


async def test_a_row_that_was_read_before_somebody_else_was_first_changes_nothing(scene: Scene):
    row = await in_store(inquiries.get, (await scene.question()).pk)
    await desk.answer(row.pk, "true", decider(scene.ada))
    assert row.state == "open"
    for late in (
        desk.answer(row, "false", decider(scene.eve)),
        desk.decline(row, decider(scene.eve)),
    ):
        with pytest.raises(AlreadySettled):
            await late
    assert (await scene.reload(row)).answer is True

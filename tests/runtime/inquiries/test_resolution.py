from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jpweb.agent.ports import Answer, AnswerSource, QuestionPrompt
from jpweb.agent.tool_outcome import Question
from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import resolution
from jpweb.runtime.inquiries.prompter import BrowserPrompter
from jpweb.store import inquiries, journal
from jpweb.store.errors import AlreadySettled, ReadOnlyConversation, UnknownInquiry
from jpweb.store.jp_files import mirror
from jpweb.store.models import Inquiry, Run
from jpweb.stream.answer_type import Boolean, Option, Secret, Select, Text
from jpweb.stream.errors import InvalidAnswer
from jpweb.stream.inquiry import (
    Answered,
    AnswerReusePolicy,
    InquiryQuestion,
    InquiryRequest,
    InquiryResponse,
    InquirySource,
)
from tests.builders import make_inquiry
from tests.runtime.playing import Scene, start_waiting, subscribe, wait_for_task
from tests.store import making
from tests.store.making import decider

CHOICE = Select((Option("red"), Option(2), Option({"deep": [True]})))


def leave_open(scene: Scene) -> tuple[Inquiry, Inquiry]:
    """Return a row that an interrupted turn left open, and one of a turn now, of the same id."""
    run = making.start_run(scene.conversation, scene.ada)
    older_row = making.question(run)
    Run.objects.filter(pk=run.pk).update(state="done")
    later_run = making.start_run(scene.conversation, scene.ada)
    journal.append_events(
        scene.conversation.pk, [making.event(make_inquiry(older_row.inquiry_id))], later_run
    )
    Inquiry.objects.filter(pk=older_row.pk).update(state="open", run=None)
    return older_row, inquiries.get_inquiry(Inquiry.objects.get(run=later_run).pk)


async def test_answer_reaches_the_call_that_waits_beside_an_older_row_of_its_id(scene: Scene):
    older_row, row = await run_in_db_thread(leave_open, scene)
    call = await start_waiting(row, resolution.wait_for_settled_row)
    await resolution.answer_inquiry(row.pk, "true", decider(scene.ada))
    settled_row = await wait_for_task(call)
    assert (settled_row.pk, settled_row.state, settled_row.answer) == (row.pk, "answered", True)
    assert (await scene.reload(older_row)).state == "open"


@pytest.mark.parametrize(
    ("kind", "answer_text", "value"),
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
    scene: Scene, kind: Any, answer_text: str, value: Any
):
    row = await scene.question(kind)
    call = await start_waiting(row, resolution.wait_for_settled_row)
    settled_row = await resolution.answer_inquiry(row.pk, answer_text, decider(scene.ada))
    result_row = await wait_for_task(call)
    assert (
        (settled_row.state, settled_row.answer)
        == (result_row.state, result_row.answer)
        == ("answered", value)
    )
    assert type(result_row.answer) is type(value)
    assert (settled_row.decider_id, settled_row.decider_name) == (scene.ada.pk, "Ada")
    last = (await scene.elements())[-1].kind
    assert last == InquiryResponse(row.inquiry_id, Answered(value))


async def test_an_answer_needs_no_call_that_waits_here(scene: Scene):
    """Another process may wait; the row tells it."""
    row = await scene.question()
    assert (await resolution.answer_inquiry(row.pk, "true", decider(scene.ada))).state == "answered"


@pytest.mark.parametrize(
    ("kind", "answer_text"), [(Boolean(), "yes"), (CHOICE, "blue"), (Text(), "\0"), (Secret(), "")]
)
async def test_answer_inquiry_with_an_invalid_answer_changes_nothing(
    scene: Scene, kind: Any, answer_text: str
):
    row = await scene.question(kind)
    before = await scene.elements()
    with pytest.raises(InvalidAnswer):
        await resolution.answer_inquiry(row.pk, answer_text, decider(scene.ada))
    assert (await scene.reload(row)).state == "open"
    assert await scene.elements() == before


async def test_a_question_that_is_not_there_cannot_be_settled(scene: Scene):
    with pytest.raises(UnknownInquiry):
        await resolution.answer_inquiry(10**9, "true", decider(scene.ada))
    with pytest.raises(UnknownInquiry):
        await resolution.decline_inquiry(10**9, decider(scene.ada))


async def test_second_answer_is_refused_and_names_the_first_person(scene: Scene):
    row = await scene.question()
    await resolution.answer_inquiry(row.pk, "true", decider(scene.ada))
    before = await scene.elements()
    for late_answer in (
        resolution.answer_inquiry(row.pk, "false", decider(scene.eve)),
        resolution.decline_inquiry(row.pk, decider(scene.eve)),
    ):
        with pytest.raises(AlreadySettled) as error:
            await late_answer
        assert error.value.inquiry.decider_name == "Ada"
    assert await scene.elements() == before
    assert (await scene.reload(row)).answer is True


async def test_concurrent_answers_settle_a_question_once(scene: Scene):
    row = await scene.question(Text())
    call = await start_waiting(row, resolution.wait_for_settled_row)
    tries = [resolution.answer_inquiry(row.pk, str(n), decider(scene.ada)) for n in range(8)]
    tries += [resolution.decline_inquiry(row.pk, decider(scene.eve)) for _ in range(8)]
    results = await asyncio.gather(*tries, return_exceptions=True)
    winners = [result for result in results if isinstance(result, Inquiry)]
    losers = [result for result in results if isinstance(result, AlreadySettled)]
    assert (len(winners), len(losers)) == (1, 15)
    assert (await wait_for_task(call)).pk == winners[0].pk
    responses = [e for e in await scene.elements() if e.tag == "inquiry_response"]
    assert len(responses) == 1


async def test_declining_is_an_outcome_of_its_own(scene: Scene):
    row = await scene.question()
    call = await start_waiting(row, resolution.wait_for_settled_row)
    settled_row = await resolution.decline_inquiry(row.pk, decider(scene.ada))
    result_row = await wait_for_task(call)
    assert (
        (settled_row.state, settled_row.reason)
        == (result_row.state, result_row.reason)
        == ("cancelled", "user")
    )
    assert (settled_row.answer, settled_row.decider_name) == (None, "Ada")


async def test_a_question_of_a_mirrored_conversation_is_jps_own(scene: Scene):
    await run_in_db_thread(mirror.mirror_workspace, mirror.DEMO_PATH, "Demo")
    mirrored_rows = Inquiry.objects.filter(conversation__origin="mirrored")
    row = await run_in_db_thread(mirrored_rows.filter(answer_type="boolean").earliest, "pk")
    await run_in_db_thread(mirrored_rows.filter(pk=row.pk).update, state="open")
    length = await run_in_db_thread(making.count_entries, row.conversation_id)
    for attempt in (
        resolution.answer_inquiry(row.pk, "true", decider(scene.ada)),
        resolution.decline_inquiry(row.pk, decider(scene.ada)),
    ):
        with pytest.raises(ReadOnlyConversation):
            await attempt
    assert await run_in_db_thread(making.count_entries, row.conversation_id) == length
    assert (await scene.reload(row)).state == "open"


async def test_settled_question_is_published_to_pages(scene: Scene):
    row = await scene.question()
    async with (
        subscribe(publisher.make_conversation_topic(scene.conversation.pk)) as reading,
        subscribe(publisher.make_workspace_topic(scene.workspace.pk)) as workspace_signals,
    ):
        await resolution.answer_inquiry(row.pk, "true", decider(scene.ada))
        assert await reading() == {"kind": "conversation"}
        assert await workspace_signals() == {"kind": "questions"}
        assert reading.take_all() == []
        assert workspace_signals.take_all() == []


async def test_a_lost_wake_up_costs_a_delay_alone(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(resolution, "ROW_POLL_SECONDS", 0.01)
    row = await scene.question()
    call = await start_waiting(row, resolution.wait_for_settled_row)
    await run_in_db_thread(making.settle, row, Answered(True))  # as another process would
    assert (await wait_for_task(call)).answer is True


async def test_a_wake_up_needs_no_look(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(resolution, "ROW_POLL_SECONDS", 3600)
    row = await scene.question()
    call = await start_waiting(row, resolution.wait_for_settled_row)
    await resolution.answer_inquiry(row.pk, "true", decider(scene.ada))
    assert (await wait_for_task(call)).answer is True


async def test_settled_question_resumes_its_call_before_publishing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    row = await scene.question()
    order: list[str] = []

    async def go_on(waiting_row: Inquiry) -> None:
        await resolution.wait_for_settled_row(waiting_row)
        order.append("went on")

    async def tell(_key: int) -> None:
        order.append("told")

    call = await start_waiting(row, go_on)
    monkeypatch.setattr(publisher, "publish_question_settled", tell)
    await resolution.answer_inquiry(row.pk, "true", decider(scene.ada))
    await wait_for_task(call)
    assert order == ["went on", "told"]


async def test_cancelled_answer_request_still_publishes_the_outcome(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    row = await scene.question()
    telling, go_on = asyncio.Event(), asyncio.Event()
    real_publish = publisher.publish_question_settled

    async def stuck(key: int) -> None:
        telling.set()
        await go_on.wait()
        await real_publish(key)

    monkeypatch.setattr(publisher, "publish_question_settled", stuck)
    async with subscribe(publisher.make_workspace_topic(scene.workspace.pk)) as workspace_signals:
        task = asyncio.create_task(resolution.answer_inquiry(row.pk, "true", decider(scene.ada)))
        await telling.wait()
        assert workspace_signals.take_all() == []
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()
        assert await workspace_signals()
    assert (await scene.reload(row)).state == "answered"


async def test_wait_for_settled_row_returns_an_earlier_outcome_at_once(scene: Scene):
    row = await scene.question()
    await resolution.answer_inquiry(row.pk, "true", decider(scene.ada))
    assert (await asyncio.wait_for(resolution.wait_for_settled_row(row), 5)).answer is True


async def test_a_call_that_stops_waiting_leaves_the_question_open(scene: Scene):
    row = await scene.question()
    call = await start_waiting(row, resolution.wait_for_settled_row)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await scene.reload(row)).state == "open"


FOR_THE_TURN = make_inquiry("call_1.again.1", "Again?", type=Boolean())
ONCE = InquiryRequest(
    "call_1.once.1",
    InquirySource.for_tool("vault"),
    InquiryQuestion("Once?", Boolean(), persistence=AnswerReusePolicy.NONE),
)


@pytest.mark.parametrize(
    ("request_", "answer_text", "is_remembered"),
    [
        (FOR_THE_TURN, "true", True),
        (FOR_THE_TURN, "false", True),
        (ONCE, "true", False),
        (make_inquiry("call_1.text.1", "Name?", type=Text()), "Rose", False),
        (make_inquiry("call_1.choice.1", "Which?", type=CHOICE), "red", False),
    ],
)
async def test_an_answer_is_remembered_where_the_question_allows_it(
    scene: Scene, request_: Any, answer_text: str, is_remembered: bool
):
    run = await run_in_db_thread(making.start_run, scene.conversation, scene.ada)
    await run_in_db_thread(
        journal.append_events, scene.conversation.pk, [making.event(request_)], run
    )
    row = await run_in_db_thread(inquiries.find_by_inquiry_id, scene.conversation.pk, request_.id)
    settled_row = await resolution.answer_inquiry(
        row.pk, answer_text, decider(scene.ada), remember=True
    )
    (event,) = (await scene.elements())[-1].events
    assert event.note.get("remember") is (True if is_remembered else None)
    prompt = QuestionPrompt(
        request_.id, Question("q", "?", Boolean()), InquirySource.for_tool("vault"), "v", None
    )
    # As after a restart: who asks now is not who asked then.
    answer = await BrowserPrompter(
        scene.conversation.pk, scene.workspace.pk, lambda: decider(scene.ada)
    ).ask(prompt)
    assert answer == Answer(settled_row.answer, remember=is_remembered)
    assert isinstance(answer, Answer)
    assert answer.source == AnswerSource(scene.ada.display_name, scene.ada.pk)


async def test_answer_is_not_remembered_by_default(scene: Scene):
    row = await scene.question(Boolean())
    await resolution.answer_inquiry(row.pk, "true", decider(scene.ada))
    assert await run_in_db_thread(inquiries.is_remembered, await scene.reload(row)) is False


async def test_waiting_call_gets_a_local_answer_without_a_query(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    row = await scene.question()
    call = await start_waiting(row, resolution.wait_until_settled)
    monkeypatch.setattr(inquiries, "get_if_settled", lambda _key: pytest.fail("it looked"))
    await resolution.answer_inquiry(row.pk, "true", decider(scene.ada), remember=True)
    result = await wait_for_task(call)
    assert (result.inquiry.answer, result.is_remembered) == (True, True)
    assert result.inquiry.response_position is not None


async def test_row_read_before_another_answer_won_changes_nothing(scene: Scene):
    row = await run_in_db_thread(inquiries.get_inquiry, (await scene.question()).pk)
    await resolution.answer_inquiry(row.pk, "true", decider(scene.ada))
    assert row.state == "open"
    for late_answer in (
        resolution.answer_inquiry(row, "false", decider(scene.eve)),
        resolution.decline_inquiry(row, decider(scene.eve)),
    ):
        with pytest.raises(AlreadySettled):
            await late_answer
    assert (await scene.reload(row)).answer is True

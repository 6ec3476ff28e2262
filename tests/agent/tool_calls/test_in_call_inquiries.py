"""Tools from outside that ask while they run, and go on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jpweb.agent.config import QuestionConfig, StaticAnswer
from jpweb.agent.interrupts import CallInterrupts, Interrupts, Respond, Restart, Stop
from jpweb.agent.ports import Answer, Declined
from jpweb.agent.redaction import REDACTED_TEXT
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_calls.in_call_inquiries import InCallInquiries
from jpweb.agent.tool_calls.result import ToolAnswer
from jpweb.agent.tool_outcome import MAX_CALL_QUESTIONS, Question, Success
from jpweb.stream.answer_type import Boolean, Secret, Text
from jpweb.stream.events import ToolCallResponse
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryRequest,
    InquiryResponse,
    InquirySource,
    Redacted,
)
from tests.agent.doubles import (
    CONFIRM,
    OutsideStub,
    ToolBench,
    other_tasks,
    wait_forever,
    wait_until,
)
from tests.builders import make_call

CALL = make_call("c1", "outside")
NAME = Question("name", "Which name?", Text())
PASSPHRASE = Question("key", "Passphrase?", Secret())
LOST, USER = Cancelled(CancellationReason.LOST), Cancelled(CancellationReason.USER)


def make_asking_bench(*questions, **options) -> Any:
    """Return a bench whose tool asks these questions in the middle and says what it was told."""

    async def run(arguments, answers, ask) -> Any:
        return Success(str([await ask(question) for question in questions]))

    return ToolBench((OutsideStub("outside", run),), **options)


async def test_in_call_question_is_answered_and_the_tool_continues():
    bench = make_asking_bench(CONFIRM, replies=[Answer(value=True)])
    await bench.run([CALL])
    assert bench.recorder.kinds == [
        InquiryRequest(
            "c1.confirm.1", InquirySource.for_tool("outside"), CONFIRM.to_inquiry_question()
        ),
        InquiryResponse("c1.confirm.1", Answered(answer=True)),
        ToolCallResponse("c1", str([Answer(value=True)]), is_error=False),
    ]
    assert not other_tasks()


async def test_a_tool_may_ask_twice_in_one_run():
    bench = make_asking_bench(CONFIRM, NAME, replies=[Answer(value=True), Answer("x")])
    await bench.run([CALL])
    assert bench.asked_ids == ["c1.confirm.1", "c1.name.1"]
    assert bench.recorder.outcomes == [Answered(answer=True), Answered("x")]


async def test_the_same_question_asked_twice_is_the_next_attempt():
    bench = make_asking_bench(NAME, NAME, replies=[Answer("x"), Answer("y")])
    await bench.run([CALL])
    assert bench.asked_ids == ["c1.name.1", "c1.name.2"]


async def test_a_tool_may_ask_several_questions_at_once():
    async def run(arguments, answers, ask) -> Any:
        replies = await asyncio.gather(ask(CONFIRM), ask(NAME))
        return Success(str([answer.value for answer in replies]))

    bench = ToolBench((OutsideStub("outside", run),), [Answer(value=True), Answer("x")])
    await bench.run([CALL])
    assert bench.recorder.results == [("c1", "[True, 'x']", False)]


@pytest.mark.parametrize("question_id", ["", "a.b"])
async def test_a_bad_id_is_declined_without_a_trace(question_id):
    bench = make_asking_bench(Question(question_id, "?", Boolean()))
    await bench.run([CALL])
    text = str([Declined(CancellationReason.BACKEND_ERROR)])
    assert bench.recorder.kinds == [ToolCallResponse("c1", text, is_error=False)]


@pytest.mark.parametrize("reason", [CancellationReason.USER, CancellationReason.EXPIRED])
async def test_in_call_question_is_declined_and_the_tool_continues(reason):
    bench = make_asking_bench(CONFIRM, replies=[Declined(reason)])
    await bench.run([CALL])
    assert bench.recorder.outcomes == [Cancelled(reason)]
    assert bench.recorder.results == [("c1", str([Declined(reason)]), False)]


async def test_static_answers_serve_questions_in_the_middle_too():
    bench = make_asking_bench(CONFIRM)
    tool = OutsideStub(
        "outside", bench.tools[0].run, {"confirm": QuestionConfig(answer=StaticAnswer(value=True))}
    )
    configured = ToolBench((tool,))
    await configured.run([CALL])
    assert configured.recorder.outcomes == [Answered(answer=True)]
    assert configured.prompter.questions == []


async def test_a_secret_given_in_the_middle_reaches_the_tool_and_not_the_record():
    async def run(arguments, answers, ask) -> Any:
        passphrase = await ask(PASSPHRASE)
        wrong = Question(
            "again", f"{passphrase.value} is wrong.", Text(), passphrase.value, passphrase.value
        )
        await ask(wrong)
        return Success(f"Opened with {passphrase.value}.")

    bench = ToolBench((OutsideStub("outside", run),), [Answer("hunter2"), Answer("ok")])
    await bench.run([CALL])
    assert bench.recorder.outcomes == [Redacted(), Answered("ok")]
    assert bench.recorder.results == [("c1", f"Opened with {REDACTED_TEXT}.", False)]
    assert "hunter2" not in bench.recorder.raw()


async def test_secret_of_one_cycle_is_redacted_in_a_call_of_the_next():
    async def write(arguments, answers, ask) -> Any:
        await ask(PASSPHRASE)
        return Success("written")

    async def read(arguments, answers, ask) -> Any:
        return Success("It says correct horse.")

    tools = OutsideStub("outside", write), OutsideStub("cat", read)
    bench = ToolBench(tools, [Answer("correct horse")])
    await bench.run([CALL])
    await bench.run([make_call("c2", "cat")])
    assert bench.recorder.results[-1] == ("c2", f"It says {REDACTED_TEXT}.", False)


@pytest.mark.parametrize("interrupt", [Stop(), Respond("Other."), Respond()])
async def test_an_interrupt_closes_the_open_question_exactly_once(interrupt):
    bench = make_asking_bench(CONFIRM, replies=[wait_forever()])
    task = asyncio.create_task(bench.run([CALL]))
    await wait_until(lambda: bench.prompter.questions)
    bench.stop.interrupt(interrupt)
    await task
    assert bench.prompter.withdrawn == [("c1.confirm.1", CancellationReason.USER)]
    assert bench.recorder.outcomes == [USER]
    text = (
        model_messages.describe_response(interrupt.text)
        if isinstance(interrupt, Respond) and interrupt.text
        else model_messages.STOPPED
    )
    assert bench.recorder.results == [("c1", text, False)]
    assert not other_tasks()


async def test_a_tool_that_asks_again_when_stopped_is_not_heard():
    async def run(arguments, answers, ask) -> Any:
        try:
            return await ask(CONFIRM)
        finally:
            await ask(NAME)

    bench = ToolBench((OutsideStub("outside", run),), [wait_forever()])
    task = asyncio.create_task(bench.run([CALL]))
    await wait_until(lambda: bench.prompter.questions)
    bench.stop.interrupt(Stop())
    await task
    assert [prompt.question.id for prompt in bench.prompter.questions] == ["confirm"]
    assert set(bench.recorder.outcomes) == {USER}
    assert len(bench.recorder.outcomes) == len(bench.asked_ids)
    assert not other_tasks()


async def test_a_restart_asks_again_under_the_next_number():
    bench = make_asking_bench(CONFIRM, replies=[wait_forever(), Answer(value=True)])
    task = asyncio.create_task(bench.run([CALL]))
    await wait_until(lambda: bench.prompter.questions)
    bench.stop.interrupt(Restart())
    await task
    assert bench.asked_ids == ["c1.confirm.1", "c1.confirm.2"]
    assert bench.recorder.outcomes == [USER, Answered(answer=True)]


async def test_a_tool_that_gives_up_on_its_question_closes_it_as_lost():
    async def run(arguments, answers, ask) -> Any:
        task = asyncio.ensure_future(ask(CONFIRM))
        await bench.prompter.waiting.wait()
        task.cancel()  # as a time limit of the tool's own would
        await asyncio.wait([task])
        return Success("went on alone")

    bench = ToolBench((OutsideStub("outside", run),), [wait_forever()])
    await bench.run([CALL])
    assert bench.recorder.outcomes == [LOST]
    assert bench.recorder.results == [("c1", "went on alone", False)]
    assert not other_tasks()


async def test_question_that_the_tool_gives_up_is_closed_while_the_tool_runs():
    """An MCP server may cancel one form of several, and take its time with the rest."""

    async def run(arguments, answers, ask) -> Any:
        given_up, kept_task = (asyncio.ensure_future(ask(question)) for question in (CONFIRM, NAME))
        await wait_until(lambda: len(bench.prompter.questions) == 2)
        given_up.cancel()
        await wait_until(lambda: bench.recorder.outcomes)
        assert bench.prompter.withdrawn == [("c1.confirm.1", CancellationReason.LOST)]
        name_event.set()
        return Success((await kept_task).value)

    async def give_name() -> Any:
        await name_event.wait()
        return Answer("Ada")

    name_event = asyncio.Event()
    bench = ToolBench((OutsideStub("outside", run),), [wait_forever(), give_name()])
    await bench.run([CALL])
    assert bench.recorder.outcomes == [LOST, Answered("Ada")]
    assert bench.recorder.results == [("c1", "Ada", False)]
    assert not other_tasks()


async def test_cancellation_of_a_slow_tool_leaves_its_question_open():
    async def run(arguments, answers, ask) -> Any:
        try:
            await ask(CONFIRM)
        finally:
            for _ in range(100):
                await asyncio.sleep(0)

    bench = ToolBench((OutsideStub("outside", run),), [wait_forever()])
    task = asyncio.create_task(bench.run([CALL]))
    await wait_until(lambda: bench.prompter.questions)
    task.cancel()
    await asyncio.wait([task])
    assert bench.recorder.outcomes == []
    assert not other_tasks()


async def test_error_of_one_question_of_a_slow_tool_leaves_the_other_open():
    async def fail() -> Any:
        await wait_until(lambda: len(bench.prompter.questions) == 2)
        raise LookupError("no such row")

    async def run(arguments, answers, ask) -> Any:
        other = asyncio.ensure_future(ask(CONFIRM))
        await wait_until(lambda: bench.prompter.questions)
        try:
            await ask(NAME)
        finally:
            other.cancel()
            for _ in range(100):
                await asyncio.sleep(0)

    bench = ToolBench((OutsideStub("outside", run),), [wait_forever(), fail()])
    with pytest.raises(LookupError, match="no such row"):
        await bench.run([CALL])
    assert bench.recorder.outcomes == []
    assert not other_tasks()


async def test_tool_that_ends_before_its_answer_closes_the_question_as_lost():
    wait_tasks: list[Any] = []

    async def run(arguments, answers, ask) -> Any:
        wait_tasks.append(asyncio.ensure_future(ask(CONFIRM)))
        await bench.prompter.waiting.wait()
        return Success("done")

    bench = ToolBench((OutsideStub("outside", run),), [wait_forever()])
    await bench.run([CALL])
    assert bench.recorder.outcomes == [LOST]
    assert await wait_tasks[0] == Declined(CancellationReason.LOST)
    assert not other_tasks()


async def test_a_cancellation_from_outside_leaves_the_question_open():
    bench = make_asking_bench(CONFIRM, replies=[wait_forever()])
    task = asyncio.create_task(bench.run([CALL]))
    await wait_until(lambda: bench.prompter.questions)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [type(kind) for kind in bench.recorder.kinds] == [InquiryRequest]
    assert bench.prompter.withdrawn == []
    assert not other_tasks()


async def test_exception_of_a_tool_leaves_its_question_open():
    async def run(arguments, answers, ask) -> Any:
        task = asyncio.ensure_future(ask(CONFIRM))
        await bench.prompter.waiting.wait()
        task.cancel()
        raise RuntimeError("bug")

    bench = ToolBench((OutsideStub("outside", run),), [wait_forever()])
    with pytest.raises(RuntimeError, match="bug"):
        await bench.run([CALL])
    assert [type(kind) for kind in bench.recorder.kinds] == [InquiryRequest]
    assert not other_tasks()


async def test_error_in_ask_is_raised_although_the_tool_swallows_it():
    questions: list[Question] = []

    async def inquire(question, _interrupts) -> Any:
        if question is CONFIRM:
            raise LookupError("no such row")
        await interrupts.wait()
        await asyncio.sleep(0)
        questions.append(question)
        return ToolAnswer("x")

    async def hiding() -> Any:
        async with InCallInquiries(inquire, interrupts) as midcall:
            slow.append(asyncio.ensure_future(midcall.ask(NAME)))
            with pytest.raises(LookupError):
                await midcall.ask(CONFIRM)

    slow: list[Any] = []
    interrupts = CallInterrupts(Interrupts())
    with pytest.raises(LookupError, match="no such row"):
        await hiding()
    assert questions == [NAME]
    assert await slow[0] == Answer("x")
    assert not other_tasks()


async def test_tool_that_asks_in_call_without_end_is_ended():
    async def run(arguments, answers, ask) -> Any:
        replies = [await ask(CONFIRM) for _ in range(MAX_CALL_QUESTIONS + 2)]
        return Success(str([isinstance(reply, Answer) for reply in replies].count(True)))

    config = {"confirm": QuestionConfig(answer=StaticAnswer(value=True))}
    bench = ToolBench((OutsideStub("outside", run, config),))
    await bench.run([CALL])
    assert len(bench.asked_ids) == MAX_CALL_QUESTIONS
    assert bench.recorder.results == [("c1", str(MAX_CALL_QUESTIONS), False)]

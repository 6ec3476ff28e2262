"""A restart of the calls outlives its process, and so does that a process ended while they ran."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jpweb.agent.config import ApprovalMode
from jpweb.agent.interrupts import Restart
from jpweb.agent.ports import Answer, Permitted, Skipped
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_outcome import CallProgress, NeedsInput, Question, Success
from jpweb.agent.turn import TurnEnd, resume_turn
from jpweb.stream.answer_type import Text
from jpweb.stream.events import ChatRequest, ConversationEvent, ToolCallResponse, TurnStart
from jpweb.stream.inquiry import (
    CancellationReason,
    InquiryRequest,
    InquirySource,
)
from tests.agent.doubles import (
    CONFIRM,
    OutsideStub,
    QueueProvider,
    StubTool,
    TurnBench,
    setup_of,
    wait_forever,
    wait_until,
)
from tests.agent.recorder import ListRecorder
from tests.agent.resuming.journals import DONE, event
from tests.builders import make_answer, make_call

SECOND = Question("second", "What else?", Text())
PERSON = {"by": {"kind": "person"}}
ALL_IDS = ["c1.confirm.1", "c1.second.1", "c1.confirm.2", "c1.second.2"]


def make_question(call_id: str, **note: Any) -> ConversationEvent:
    """Return the request of a call's first question."""
    source, asked = InquirySource.for_tool("tool"), CONFIRM.to_inquiry_question()
    keys = {"tool_call_id": call_id, "tool": "tool", "question_id": "confirm", "attempt": 1}
    return event(InquiryRequest(f"{call_id}.confirm.1", source, asked), **keys, **note)


def make_recorder(*call_ids: str) -> ListRecorder:
    calls = [make_call(call_id, "tool") for call_id in call_ids]
    return ListRecorder([event(kind) for kind in (TurnStart(), ChatRequest("Go."), *calls)])


def make_worker(*, is_slow: bool = False) -> StubTool:
    """Return a tool that asks two questions; a slow one works without an end once it has both."""

    def run(arguments: Any, answers: Any) -> Any:
        for question in (CONFIRM, SECOND):
            if question.id not in answers:
                return NeedsInput(question)
        return wait_forever() if is_slow else Success("done")

    return StubTool("tool", run)


def make_outside_worker(*, is_slow: bool = False) -> OutsideStub:
    """Return a worker that asks its questions while it runs."""

    async def run(arguments: Any, answers: Any, ask: Any) -> Success:
        values = [(await ask(question)).value for question in (CONFIRM, SECOND)]
        if is_slow:
            await wait_forever()
        return Success(str(values))

    return OutsideStub("tool", run)


class Process:
    """A process that plays the turn of a journal, with the replies and decisions of people."""

    def __init__(
        self, recorder: ListRecorder, tool: Any, *replies: Any, decisions: Any = None
    ) -> None:
        self.recorder, self.tool = recorder, tool
        self.turn = TurnBench(QueueProvider([DONE]), (tool,), list(replies), recorder)
        self.prompter = self.turn.prompter
        if decisions is not None:
            self.prompter.decisions = list(decisions)
            self.turn.setup = setup_of((tool,), {"tool": {"run": ApprovalMode.ASK}})

    async def play(self, *waiting_ids: str, is_crashed: bool = False) -> TurnEnd:
        if is_crashed:
            self.recorder.take_over_calls()
        return await resume_turn(
            self.turn.ports,
            self.turn.stop,
            self.turn.setup,
            waiting_call_ids=frozenset(waiting_ids),
            has_crashed=is_crashed,
        )

    async def play_until(self, is_over: Any, **options: Any) -> None:
        """Play the turn, and end the process once the condition holds."""
        task = asyncio.create_task(self.play(**options))
        await wait_until(is_over)
        task.cancel()
        await asyncio.wait([task])

    async def restart_when(self, is_begun: Any, is_over: Any) -> None:
        """Play the turn, restart its calls once they have begun, and end the process."""

        async def restart() -> None:
            await wait_until(is_begun)
            self.turn.stop.interrupt(Restart())

        task = asyncio.create_task(restart())
        await self.play_until(lambda: task.done() and is_over())


async def restart_worker(recorder: ListRecorder, tool: Any, decisions: Any = None) -> None:
    """Answer both questions, restart, and end once the call waits for a person again."""
    replies = [Answer(value=True), Answer("wrong"), *([] if decisions else [wait_forever()])]
    process = Process(recorder, tool, *replies, decisions=decisions)
    prompter = process.prompter
    await process.restart_when(
        lambda: len(recorder.outcomes) == 2,
        lambda: len(prompter.prompts) == 2 if decisions else len(prompter.questions) == 3,
    )


@pytest.mark.parametrize("is_crashed", [False, True], ids=["parked", "crashed"])
async def test_answers_from_before_a_restart_stay_discarded(is_crashed):
    recorder = make_recorder("c1")
    await restart_worker(recorder, make_worker(is_slow=True))
    recorder.events.append(event(make_answer("c1.confirm.2", answer=False), **PERSON))
    process = Process(recorder, make_worker(), Answer("right"))
    assert await process.play(is_crashed=is_crashed) is TurnEnd.COMPLETE
    assert [request.id for request in recorder.of(InquiryRequest)] == ALL_IDS
    assert process.tool.runs[-1] == {"confirm": False, "second": "right"}


async def test_answers_in_the_call_from_before_a_restart_stay_discarded():
    recorder = make_recorder("c1")
    await restart_worker(recorder, make_outside_worker(is_slow=True))
    recorder.events.append(event(make_answer("c1.confirm.2", answer=False), **PERSON))
    process = Process(recorder, make_outside_worker(), Answer("right"))
    assert await process.play(is_crashed=True) is TurnEnd.COMPLETE
    assert [request.id for request in recorder.of(InquiryRequest)] == ALL_IDS
    assert recorder.results == [("c1", "[False, 'right']", False)]


async def test_call_that_waited_at_its_gate_after_a_restart_asks_all_again():
    recorder = make_recorder("c1")
    decisions = [Permitted({}), wait_forever()]
    await restart_worker(recorder, make_worker(is_slow=True), decisions)
    replies = [Answer(value=False), Answer("right")]
    process = Process(recorder, make_worker(), *replies, decisions=[Permitted({})])
    assert await process.play("c1") is TurnEnd.COMPLETE
    assert [request.id for request in recorder.of(InquiryRequest)] == ALL_IDS
    assert process.tool.runs[-1] == {"confirm": False, "second": "right"}


async def test_remembered_answers_from_before_a_restart_still_hold():
    recorder = make_recorder("c1")
    recorder.events += [make_question("c1"), event(make_answer("c1.confirm.1"), remember=True)]
    await recorder.restart_calls()
    process = Process(recorder, make_worker(), Answer("right"))
    assert await process.play() is TurnEnd.COMPLETE
    assert [prompt.question.id for prompt in process.prompter.questions] == ["second"]
    assert process.tool.runs[-1] == {"confirm": True, "second": "right"}


# restarts in the process that takes a turn over


async def test_restart_of_a_parked_gated_call_closes_its_question():
    recorder = make_recorder("c1")
    recorder.events.append(make_question("c1", permitted=True))
    decisions, replies = [Permitted({"n": 2})], [wait_forever()]
    parked = Process(recorder, make_worker(), *replies, decisions=decisions)
    parked.turn.stop.interrupt(Restart())
    await parked.play_until(lambda: parked.prompter.questions)
    assert parked.prompter.withdrawn == [("c1.confirm.1", CancellationReason.USER)]
    assert parked.prompter.questions[0].inquiry_id == "c1.confirm.2"
    recorder.events.append(event(make_answer("c1.confirm.2"), **PERSON))
    process = Process(recorder, make_worker(), Answer("right"), decisions=[])
    assert await process.play() is TurnEnd.COMPLETE
    assert process.prompter.prompts == []
    assert recorder.notes(ToolCallResponse) == [{"arguments": {"n": 2}}]


async def test_restart_of_a_parked_call_without_gate_waits_at_the_same_question():
    recorder = make_recorder("c1")
    recorder.events.append(make_question("c1"))
    parked = Process(recorder, make_worker(), wait_forever())
    parked.turn.stop.interrupt(Restart())
    await parked.play_until(lambda: parked.prompter.questions)
    recorder.events.append(event(make_answer("c1.confirm.1"), **PERSON))
    process = Process(recorder, make_worker(), Answer("right"))
    assert await process.play() is TurnEnd.COMPLETE
    assert process.tool.runs[-1] == {"confirm": True, "second": "right"}
    assert recorder.notes(ToolCallResponse) == [None], "nothing of it was cut off"


async def test_restart_at_the_gate_discards_the_answers_that_the_call_had():
    recorder = make_recorder("c1")
    recorder.events += [make_question("c1"), event(make_answer("c1.confirm.1"), **PERSON)]
    replies, decisions = [Answer(value=False), Answer("right")], [wait_forever(), Permitted({})]
    process = Process(recorder, make_worker(), *replies, decisions=decisions)
    task = asyncio.create_task(process.play("c1"))
    await wait_until(lambda: process.prompter.prompts)
    process.turn.stop.interrupt(Restart())
    assert await task is TurnEnd.COMPLETE
    assert process.tool.runs[-1] == {"confirm": False, "second": "right"}


async def test_restarted_call_whose_result_was_kept_is_permitted_again():
    recorder = make_recorder("c1")
    note = {"permitted": True}
    recorder.events += [make_question("c1", **note), event(make_answer("c1.confirm.1"), **PERSON)]
    recorder.progress = {"c1": CallProgress("kept", is_final=True)}
    process = Process(recorder, make_worker(), decisions=[Skipped()])
    process.turn.stop.interrupt(Restart())
    assert await process.play() is TurnEnd.COMPLETE
    assert process.tool.runs == []
    assert recorder.results == [("c1", model_messages.describe_skip(""), False)]


# processes that ended while calls were running


async def test_call_cut_off_that_was_queued_at_the_gate_is_permitted_again():
    """It waits behind another one, so no approval of its own tells the next process so."""
    recorder = make_recorder("c1", "c2")
    note = {"permitted": True}
    recorder.events += [make_question("c2", **note), event(make_answer("c2.confirm.1"), **PERSON)]
    crashed = Process(recorder, make_worker(), decisions=[wait_forever()])
    await crashed.play_until(lambda: crashed.prompter.prompts, is_crashed=True)
    process = Process(recorder, make_worker(), decisions=[Skipped(), Skipped()])
    assert await process.play("c1") is TurnEnd.COMPLETE
    assert [prompt.tool_call_id for prompt in process.prompter.prompts] == ["c1", "c2"]
    assert process.tool.runs == []


async def test_call_cut_off_keeps_the_question_that_it_waited_at():
    recorder = make_recorder("c1")
    recorder.events.append(make_question("c1", permitted=True))
    crashed = Process(recorder, make_worker(), wait_forever(), decisions=[])
    await crashed.play_until(lambda: crashed.prompter.questions, is_crashed=True)
    recorder.events.append(event(make_answer("c1.confirm.1"), **PERSON))
    process = Process(recorder, make_worker(), Answer("right"), decisions=[])
    assert await process.play() is TurnEnd.COMPLETE
    assert process.tool.runs[-1] == {"confirm": True, "second": "right"}
    assert process.prompter.prompts == []

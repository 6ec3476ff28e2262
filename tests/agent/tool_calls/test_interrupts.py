"""Restart and respond while the calls of a cycle run. Stops are in ``test_interruptions``."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jpweb.agent.config import ApprovalMode, QuestionConfig, QuestionTarget, StaticAnswer
from jpweb.agent.interrupts import Respond, Restart, Stop
from jpweb.agent.ports import Answer, Permitted
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_calls.turn_state import AnswerKey, PermissionKey, RememberedAnswer
from jpweb.agent.tool_outcome import Question, Success
from jpweb.stream.answer_type import Text
from jpweb.stream.events import ToolCallResponse
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled, InquiryResponse
from tests.agent.doubles import (
    CONFIRM,
    StubTool,
    ToolBench,
    make_asker,
    other_tasks,
    wait_forever,
    wait_until,
)
from tests.builders import make_call

USER = Cancelled(CancellationReason.USER)
CALL = make_call("c1", "tool")
SAID = [Restart(), Respond(), Respond("Leave it."), Stop()]


def quick() -> Any:
    return StubTool("quick", lambda *_: Success("result"))


def make_tool_stuck_once() -> Any:
    """Return a tool that hangs in its first run and ends in its second."""
    tool = StubTool("stuck", lambda *_: wait_forever() if len(tool.runs) == 1 else Success("done"))
    return tool


async def run_and_interrupt(bench, calls, ready, *interrupts) -> Any:
    """Run the calls, say all that once ready; return what is still said at the end."""
    task = asyncio.create_task(bench.run(calls))
    await wait_until(ready)
    for interrupt in interrupts:
        bench.stop.interrupt(interrupt)
    await task
    assert not other_tasks()
    return bench.stop.pending


# restart


async def test_restart_discards_results_and_reruns_completed_calls():
    tools = (quick(), make_tool_stuck_once())
    bench = ToolBench(tools)
    calls = [make_call("a", "quick"), make_call("b", "stuck")]
    await run_and_interrupt(bench, calls, lambda: all(tool.runs for tool in tools), Restart())
    assert [len(tool.runs) for tool in tools] == [2, 2]
    assert bench.recorder.kinds == [
        ToolCallResponse("a", "result", is_error=False),
        ToolCallResponse("b", "done", is_error=False),
    ]
    assert bench.stop.pending is None


async def test_restart_closes_open_questions_and_asks_them_as_a_next_attempt():
    bench = ToolBench((make_asker(CONFIRM),), [wait_forever(), Answer(value=True)])
    await run_and_interrupt(bench, [CALL], lambda: bench.prompter.questions, Restart())
    assert bench.asked_ids == ["c1.confirm.1", "c1.confirm.2"]
    assert bench.recorder.outcomes == [USER, Answered(answer=True)]
    assert bench.recorder.results == [("c1", "done", False)]


async def test_restart_asks_for_unremembered_answers_again():
    second = Question("second", "?", Text())
    replies = [Answer(value=True), wait_forever(), Answer(value=False), Answer("x")]
    bench = ToolBench((make_asker(CONFIRM, second),), replies)
    await run_and_interrupt(bench, [CALL], lambda: len(bench.prompter.questions) == 2, Restart())
    assert bench.tools[0].runs[-1] == {"confirm": False, "second": "x"}
    assert bench.asked_ids == [
        "c1.confirm.1",
        "c1.second.1",
        "c1.confirm.2",
        "c1.second.2",
    ]


async def test_remembered_answers_and_permissions_survive_a_restart():
    second = Question("second", "?", Text())
    replies = [Answer(value=True, remember=True), wait_forever(), Answer("x")]
    bench = ToolBench(
        (make_asker(CONFIRM, second),), replies, changes={"tool": {"run": ApprovalMode.ASK}}
    )
    bench.prompter.decisions = [Permitted({}, remember=True)]
    await run_and_interrupt(bench, [CALL], lambda: len(bench.prompter.questions) == 2, Restart())
    assert len(bench.prompter.prompts) == 1
    assert [prompt.question.id for prompt in bench.prompter.questions] == [
        "confirm",
        "second",
        "second",
    ]
    notes = bench.recorder.notes(InquiryResponse)
    assert [note["by"]["kind"] for note in notes] == ["person", "person", "memory", "person"]
    key = AnswerKey("tool", "confirm")
    assert bench.state.remembered_tool_answers == {key: RememberedAnswer(value=True)}
    assert bench.state.remembered_permission_decisions == {PermissionKey("tool"): True}


async def test_restart_asks_for_unremembered_permissions_again():
    stuck = make_tool_stuck_once()
    bench = ToolBench((stuck,), changes={"stuck": {"run": ApprovalMode.ASK}})
    bench.prompter.decisions = [Permitted({}), Permitted({})]
    await run_and_interrupt(bench, [make_call("a", "stuck")], lambda: stuck.runs, Restart())
    assert len(bench.prompter.prompts) == 2


async def test_a_restart_while_a_permission_is_open_puts_it_away_and_asks_again():
    bench = ToolBench((quick(),), changes={"quick": {"run": ApprovalMode.ASK}})
    bench.prompter.decisions = [wait_forever(), Permitted({})]
    calls = [make_call("a", "quick")]
    await run_and_interrupt(bench, calls, lambda: bench.prompter.prompts, Restart())
    assert bench.prompter.put_aside == bench.prompter.prompts[:1]
    assert bench.recorder.results == [("a", "result", False)]


async def test_calls_may_be_restarted_more_than_once():
    bench = ToolBench((make_asker(CONFIRM),), [wait_forever(), wait_forever(), Answer(value=True)])
    task = asyncio.create_task(bench.run([CALL]))
    await wait_until(lambda: len(bench.prompter.questions) == 1)
    bench.stop.interrupt(Restart())
    await wait_until(lambda: len(bench.prompter.questions) == 2)
    bench.stop.interrupt(Restart())
    await task
    assert bench.asked_ids == ["c1.confirm.1", "c1.confirm.2", "c1.confirm.3"]
    assert len(bench.recorder.of(ToolCallResponse)) == 1


async def test_a_restart_that_was_said_before_the_calls_runs_them_once():
    bench = ToolBench((quick(),))
    bench.stop.interrupt(Restart())
    await bench.run([make_call("a", "quick")])
    assert len(bench.tools[0].runs) == 1
    assert bench.recorder.results == [("a", "result", False)]


# respond


@pytest.mark.parametrize(
    ("interrupt", "response", "text"),
    [
        (Respond("Leave it."), None, model_messages.describe_response("Leave it.")),
        (Respond("Leave it."), "Ask why.", model_messages.describe_response("Leave it.")),
        (Respond(), None, model_messages.STOPPED),
        (Respond(), "Ask why.", "Ask why."),
        (Stop(), None, model_messages.STOPPED),
        (Stop(), "Ask why.", "Ask why."),
    ],
)
async def test_interrupt_text_is_the_result_of_calls_without_one(interrupt, response, text):
    changes = {"tool": {"cancellation_response": response}}
    bench = ToolBench((make_asker(CONFIRM), quick()), [wait_forever()], changes=changes)
    calls = [CALL, make_call("c2", "quick")]
    pending = await run_and_interrupt(bench, calls, lambda: bench.prompter.questions, interrupt)
    assert pending == (None if isinstance(interrupt, Respond) else interrupt)
    assert bench.recorder.outcomes == [USER]
    assert bench.recorder.results == [("c1", text, False), ("c2", "result", False)]


async def test_response_after_all_results_stays_pending():
    bench = ToolBench((quick(),))
    await bench.run([make_call("a", "quick")])
    bench.stop.interrupt(Respond("Leave it."))
    await bench.run([make_call("a", "gone")])
    assert bench.stop.pending == Respond("Leave it.")
    assert bench.recorder.results[-1] == ("a", model_messages.describe_unknown_tool("gone"), True)


@pytest.mark.parametrize(
    ("interrupts", "result"),
    [
        ([Restart(), Respond("A.")], model_messages.describe_response("A.")),
        ([Respond("A."), Restart()], model_messages.describe_response("A.")),
        ([Respond("A."), Respond("B.")], model_messages.describe_response("A.\n\nB.")),
        ([Respond("A."), Stop()], model_messages.STOPPED),
        ([Stop(), Respond("A.")], model_messages.STOPPED),
        ([Restart(), Stop()], model_messages.STOPPED),
        ([Stop(), Restart()], model_messages.STOPPED),
        ([Restart(), Restart()], "done"),
    ],
)
async def test_a_stop_beats_a_response_and_a_response_a_restart(interrupts, result):
    stuck = make_tool_stuck_once()
    bench = ToolBench((stuck,))
    await run_and_interrupt(bench, [make_call("a", "stuck")], lambda: stuck.runs, *interrupts)
    assert bench.recorder.results == [("a", result, False)]


async def test_message_while_calls_are_cancelled_is_the_result_of_all_of_them():
    release = asyncio.Event()

    async def slow_to_go(arguments, answers) -> Any:
        try:
            await wait_forever()
        finally:
            await release.wait()

    fast, slow = StubTool("fast", lambda *_: wait_forever()), StubTool("slow", slow_to_go)
    bench = ToolBench((fast, slow))
    task = asyncio.create_task(bench.run([make_call("a", "fast"), make_call("b", "slow")]))
    await wait_until(lambda: fast.runs and slow.runs)
    bench.stop.interrupt(Restart())
    for _ in range(20):
        await asyncio.sleep(0)  # the fast one is gone by now
    bench.stop.interrupt(Respond("Leave it."))
    release.set()
    await task
    text = model_messages.describe_response("Leave it.")
    assert bench.recorder.results == [("a", text, False), ("b", text, False)]


# what RFD 082 leaves open (docs/jp-format.md, Who answers)


@pytest.mark.parametrize("interrupt", SAID)
async def test_a_question_that_waits_behind_another_is_closed_too(interrupt):
    """The second reply would never come: whatever is open is closed at once."""
    replies = [wait_forever(), wait_forever(), Answer(value=True), Answer(value=True)]
    bench = ToolBench((make_asker(CONFIRM),), replies)
    calls = [make_call("a", "tool"), make_call("b", "tool")]
    await run_and_interrupt(bench, calls, lambda: len(bench.prompter.questions) == 2, interrupt)
    assert bench.recorder.outcomes[:2] == [USER, USER]
    assert len(bench.recorder.outcomes) == len(bench.asked_ids)


@pytest.mark.parametrize("interrupt", SAID)
async def test_an_answer_that_arrives_with_the_interrupt_is_recorded(interrupt):
    """It was given, though its tool was cancelled."""

    async def answer() -> Any:
        bench.stop.interrupt(interrupt)
        return Answer(value=True, remember=True)

    bench = ToolBench((make_asker(CONFIRM),))
    bench.replies.append(answer())
    await bench.run([CALL])
    assert bench.recorder.outcomes[0] == Answered(answer=True)
    assert bench.prompter.withdrawn == []
    assert list(bench.state.remembered_tool_answers.values()) == [RememberedAnswer(value=True)]


@pytest.mark.parametrize("interrupt", SAID)
async def test_a_question_at_the_backend_is_closed_by_an_interrupt(interrupt):
    class OnceStuckBackend:
        inquiry_count = 0

        async def inquire(self, *_: Any) -> Any:
            self.inquiry_count += 1
            return await wait_forever() if self.inquiry_count == 1 else True

    backend = OnceStuckBackend()
    tool = make_asker(CONFIRM, config=QuestionConfig(QuestionTarget.ASSISTANT))
    bench = ToolBench((tool,), backend=backend)
    await run_and_interrupt(bench, [CALL], lambda: backend.inquiry_count, interrupt)
    assert bench.recorder.outcomes[0] == USER
    assert bench.prompter.withdrawn == [("c1.confirm.1", CancellationReason.USER)]


async def test_result_at_a_stop_is_kept_also_after_a_static_answer():
    tool = make_asker(CONFIRM, config=QuestionConfig(answer=StaticAnswer(value=True)))
    bench = ToolBench((tool, make_tool_stuck_once()))
    calls = [CALL, make_call("c2", "stuck")]
    await run_and_interrupt(
        bench, calls, lambda: len(tool.runs) == 2 and bench.tools[1].runs, Stop()
    )
    assert bench.recorder.results == [("c1", "done", False), ("c2", model_messages.STOPPED, False)]

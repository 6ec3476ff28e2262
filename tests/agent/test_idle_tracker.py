"""When a turn does nothing but wait for people."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import Any

import pytest

from jpweb.agent.config import ApprovalMode, QuestionConfig, QuestionTarget, StaticAnswer
from jpweb.agent.idle_tracker import IdleTracker
from jpweb.agent.interrupts import Stop
from jpweb.agent.ports import Answer, Permitted, Skipped
from jpweb.agent.tool_outcome import Question, Success
from jpweb.agent.turn import resume_turn
from jpweb.stream.answer_type import Secret, Text
from jpweb.stream.events import ChatRequest, ConversationEvent, TurnStart
from tests.agent.doubles import (
    AT,
    CONFIRM,
    OutsideStub,
    QueueProvider,
    StubTool,
    ToolBench,
    TurnBench,
    make_asker,
    other_tasks,
    wait_forever,
    wait_until,
)
from tests.agent.recorder import ListRecorder
from tests.builders import make_call

CALL = make_call("c1", "tool")
SECRET = Question("key", "Key?", Secret())


class Never:
    """A reply that does not come, which nobody has to wait for."""

    def __await__(self) -> Any:
        return wait_forever().__await__()


# counting


def is_idle(idle_tracker: IdleTracker) -> bool:
    """Return the state now; mypy narrows the attribute to its first value."""
    return idle_tracker.is_idle


def test_idle_tracker_is_not_idle_without_a_waiting_call():
    idle_tracker = IdleTracker()
    assert not is_idle(idle_tracker)
    idle_tracker.start_batch(1)
    assert not is_idle(idle_tracker)
    idle_tracker.start_batch(0)
    assert not is_idle(idle_tracker)


def test_idle_tracker_is_idle_when_all_unfinished_calls_wait():
    idle_tracker = IdleTracker()
    idle_tracker.start_batch(3)
    with idle_tracker.track_wait_for_person():
        assert not is_idle(idle_tracker)
        idle_tracker.end_call()
        assert not is_idle(idle_tracker)
        with idle_tracker.track_wait_for_person():
            assert is_idle(idle_tracker)
        assert not is_idle(idle_tracker)
        idle_tracker.end_call()
        assert is_idle(idle_tracker)
    assert not is_idle(idle_tracker)


def test_idle_tracker_counts_queued_calls_only_during_an_approval():
    idle_tracker = IdleTracker()
    idle_tracker.start_batch(2)
    with idle_tracker.track_wait_at_gate():
        assert not is_idle(idle_tracker)
        with idle_tracker.track_wait_for_person():
            assert not is_idle(idle_tracker)
        with idle_tracker.track_wait_for_person(gate=True):
            assert is_idle(idle_tracker)


def test_tracker_is_not_idle_while_idling_is_prevented():
    idle_tracker = IdleTracker()
    idle_tracker.start_batch(1)
    with idle_tracker.track_wait_for_person():
        with idle_tracker.prevent_idle(), idle_tracker.prevent_idle():
            assert not is_idle(idle_tracker)
        assert is_idle(idle_tracker)


@pytest.mark.parametrize("block", ["track_wait_for_person", "track_wait_at_gate", "prevent_idle"])
def test_a_block_that_fails_counts_no_longer(block):
    idle_tracker = IdleTracker()
    with pytest.raises(RuntimeError), getattr(idle_tracker, block)():
        raise RuntimeError
    idle_tracker.start_batch(1)
    with idle_tracker.track_wait_for_person():
        assert is_idle(idle_tracker)


async def test_idle_tracker_wakes_wait_idle_and_wait_busy_separately():
    idle_tracker = IdleTracker()
    await idle_tracker.wait_busy()
    idle_task, idle_states = asyncio.create_task(idle_tracker.wait_idle()), []
    idle_task.add_done_callback(lambda _: idle_states.append(idle_tracker.is_idle))
    await asyncio.sleep(0)
    with ExitStack() as stack:
        idle_tracker.start_batch(1)
        with idle_tracker.track_wait_for_person():
            pass
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not idle_task.done()  # it was over before anybody could look
        stack.enter_context(idle_tracker.track_wait_for_person())
        await idle_task
        work = asyncio.create_task(idle_tracker.wait_busy())
        await asyncio.sleep(0)
        assert not work.done()
    await work
    assert idle_states == [True]


# what a turn does


async def is_idle_once_ready(bench: ToolBench, calls: Any, ready: Any) -> bool:
    """Run the calls until they are ready, tell whether they rest, and stop them."""
    task = asyncio.create_task(bench.run(calls))
    await wait_until(ready)
    for _ in range(10):
        await asyncio.sleep(0)
    is_idle = bench.state.idle_tracker.is_idle
    bench.stop.interrupt(Stop())
    await task
    assert not bench.state.idle_tracker.is_idle
    assert not other_tasks()
    return is_idle


def busy(name: str = "busy") -> Any:
    return StubTool(name, lambda *_: wait_forever())


def make_bench(*tools: Any, decisions: Any = (), **changes: Any) -> Any:
    bench = ToolBench(tools, [Never(), Never()], changes=changes)
    bench.prompter.decisions = [*decisions, Never(), Never()]
    return bench


async def test_idle_tracker_is_idle_at_a_question_to_a_person():
    bench = make_bench(make_asker(CONFIRM))
    assert await is_idle_once_ready(bench, [CALL], lambda: bench.prompter.questions)


async def test_idle_tracker_is_idle_at_a_permission_with_queued_calls():
    bench = make_bench(make_asker(), tool={"run": ApprovalMode.ASK})
    calls = [CALL, make_call("c2", "tool"), make_call("c3", "tool")]
    assert await is_idle_once_ready(bench, calls, lambda: bench.prompter.prompts)
    assert len(bench.prompter.prompts) == 1


async def test_idle_tracker_is_idle_at_a_result_approval():
    bench = make_bench(make_asker(), tool={"result": ApprovalMode.ASK})
    assert await is_idle_once_ready(bench, [CALL], lambda: bench.prompter.prompts)


async def test_idle_tracker_is_idle_when_calls_wait_in_different_ways():
    tools = (
        make_asker(CONFIRM, name="q"),
        make_asker(name="p"),
        make_asker(name="d"),
        make_asker(name="done"),
    )
    bench = make_bench(*tools, p={"run": ApprovalMode.ASK}, d={"result": ApprovalMode.ASK})
    calls = [make_call(name, name) for name in ("q", "p", "d", "done")]
    assert await is_idle_once_ready(
        bench, calls, lambda: bench.prompter.questions and len(bench.prompter.prompts) == 2
    )


@pytest.mark.parametrize("wait_kind", ["question", "permission", "result"])
async def test_idle_tracker_is_not_idle_while_another_tool_runs(wait_kind):
    tool = make_asker(CONFIRM) if wait_kind == "question" else make_asker()
    changes = {"permission": {"run": ApprovalMode.ASK}, "result": {"result": ApprovalMode.ASK}}.get(
        wait_kind, {}
    )
    work = busy()
    bench = make_bench(tool, work, tool=changes)
    ready = lambda: work.runs and (bench.prompter.questions or bench.prompter.prompts)  # noqa: E731  named where it is used
    assert not await is_idle_once_ready(bench, [CALL, make_call("c2", "busy")], ready)


async def test_permitted_call_counts_as_working_while_the_next_waits():
    work = busy("tool")
    bench = make_bench(work, decisions=[Permitted({})], tool={"run": ApprovalMode.ASK})
    ready = lambda: len(bench.prompter.prompts) == 2 and work.runs  # noqa: E731  named where it is used
    assert not await is_idle_once_ready(bench, [CALL, make_call("c2", "tool")], ready)


async def test_idle_tracker_is_not_idle_between_two_approval_prompts():
    """The next prompt is not put yet: a turn parked then would ask nobody."""
    idle_states = []

    async def skip() -> Any:
        return Skipped()

    bench = make_bench(
        make_asker(CONFIRM),
        make_asker(name="gated"),
        decisions=[skip()],
        gated={"run": ApprovalMode.ASK},
    )
    reachable = bench.prompter.has_reachable_person

    async def has_person() -> Any:
        if bench.prompter.prompts:
            idle_states.append(bench.state.idle_tracker.is_idle)
        return await reachable()

    bench.prompter.has_reachable_person = has_person
    calls = [make_call("a", "gated"), make_call("b", "gated"), CALL]
    assert await is_idle_once_ready(bench, calls, lambda: len(bench.prompter.prompts) == 2)
    assert idle_states
    assert not any(idle_states)


async def test_idle_tracker_is_not_idle_at_a_question_inside_a_call():
    async def run(arguments: Any, answers: Any, ask: Any) -> Any:
        return Success(str(await ask(CONFIRM)))

    bench = make_bench(OutsideStub("tool", run))
    assert not await is_idle_once_ready(bench, [CALL], lambda: bench.prompter.questions)


async def test_idle_tracker_is_not_idle_at_the_inquiry_backend():
    class StuckBackend:
        inquiry_count = 0

        async def inquire(self, *_: Any) -> Any:
            self.inquiry_count += 1
            await wait_forever()

    bench = make_bench(make_asker(CONFIRM, config=QuestionConfig(QuestionTarget.ASSISTANT)))
    backend = StuckBackend()
    bench = ToolBench(bench.tools, backend=backend)
    assert not await is_idle_once_ready(bench, [CALL], lambda: backend.inquiry_count)


async def test_tracker_is_not_idle_while_reachability_is_looked_up():
    bench = make_bench(make_asker(CONFIRM))
    lookup_event, gate = asyncio.Event(), asyncio.Event()

    async def reachable() -> bool:
        lookup_event.set()
        await gate.wait()
        return True

    bench.prompter.has_reachable_person = reachable
    task = asyncio.create_task(bench.run([CALL]))
    await lookup_event.wait()
    for _ in range(10):
        await asyncio.sleep(0)
    assert not bench.state.idle_tracker.is_idle
    gate.set()
    await bench.state.idle_tracker.wait_idle()
    assert bench.prompter.questions
    bench.stop.interrupt(Stop())
    await task


@pytest.mark.parametrize("source", ["person", "configuration"])
async def test_call_with_a_secret_is_not_idle_until_its_tool_has_a_result(source):
    static = {"key": QuestionConfig(answer=StaticAnswer("hunter2"))}
    tool = make_asker(SECRET, CONFIRM)
    bench = ToolBench((tool,), [Answer("hunter2"), Never()])
    if source == "configuration":
        bench = ToolBench((tool,), [Never()], changes={"tool": {"questions": static}})
    question_count = 2 if source == "person" else 1
    assert not await is_idle_once_ready(
        bench, [CALL], lambda: len(bench.prompter.questions) == question_count
    )
    after = ToolBench(
        (make_asker(SECRET),), [Answer("hunter2")], changes={"tool": {"result": ApprovalMode.ASK}}
    )
    after.prompter.decisions = [Never()]
    assert await is_idle_once_ready(after, [CALL], lambda: after.prompter.prompts)


async def test_idle_tracker_is_not_idle_while_a_call_holds_a_secret():
    holding_tool, waiting_tool = make_asker(SECRET, CONFIRM), make_asker(CONFIRM, name="other")
    bench = ToolBench((holding_tool, waiting_tool), [Never(), Answer("hunter2"), Never()])
    calls = [make_call("c2", "other"), CALL]
    assert not await is_idle_once_ready(bench, calls, lambda: len(bench.prompter.questions) == 3)


async def test_calls_that_share_an_id_are_not_idle():
    bench = make_bench(make_asker(CONFIRM))
    assert not await is_idle_once_ready(
        bench, [CALL, CALL], lambda: len(bench.prompter.questions) == 2
    )
    assert bench.recorder.saved_progress == []


async def test_idle_tracker_changes_with_an_answer_and_the_next_question():
    gates = [asyncio.Event(), asyncio.Event()]

    async def reply(gate: asyncio.Event, value: Any) -> Any:
        await gate.wait()
        return Answer(value)

    second = Question("second", "?", Text())
    bench = ToolBench((make_asker(CONFIRM, second),), [reply(gates[0], True), reply(gates[1], "x")])
    task = asyncio.create_task(bench.run([CALL]))
    for number, gate in enumerate(gates):
        await bench.state.idle_tracker.wait_idle()
        assert len(bench.prompter.questions) == number + 1
        gate.set()
        await bench.state.idle_tracker.wait_busy()
    await task


async def test_idle_tracker_notifies_waiters_outside_the_turn():
    stage = TurnBench(QueueProvider([]), (make_asker(CONFIRM),), [Never()], ListRecorder())
    opening_events = [ConversationEvent(AT, kind) for kind in (TurnStart(), ChatRequest("Go."))]
    stage.recorder.events += [*opening_events, ConversationEvent(AT, CALL)]
    task = asyncio.create_task(resume_turn(stage.ports, stage.stop, stage.setup))
    await stage.ports.idle_tracker.wait_idle()
    stage.stop.interrupt(Stop())
    await task


async def test_idle_tracker_is_not_idle_while_the_model_replies():
    provider = QueueProvider([[asyncio.Event()]])
    stage = TurnBench(provider)
    stage.recorder.events += [
        ConversationEvent(AT, kind) for kind in (TurnStart(), ChatRequest("Go."))
    ]
    task = asyncio.create_task(resume_turn(stage.ports, stage.stop, stage.setup))
    await wait_until(lambda: provider.requests)
    assert not stage.ports.idle_tracker.is_idle
    stage.stop.interrupt(Stop())
    await task


async def test_result_is_checkpointed_before_the_turn_is_idle():
    bench = ToolBench((make_asker(CONFIRM), make_asker(name="quick")), [Never()])
    task = asyncio.create_task(bench.run([CALL, make_call("c2", "quick")]))
    await bench.state.idle_tracker.wait_idle()
    assert list(bench.recorder.progress) == ["c2"]
    bench.stop.interrupt(Stop())
    await task

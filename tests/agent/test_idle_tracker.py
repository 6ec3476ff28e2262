"""When a turn does nothing but wait for people."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import Any

import pytest

from jpweb.agent.config import Mode, QuestionConfig, QuestionTarget, StaticAnswer
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
    Bench,
    ListRecorder,
    OutsideStub,
    QueueProvider,
    Stage,
    StubTool,
    asks,
    never,
    others,
    until,
)
from tests.builders import called

CALL = called("c1", "tool")
SECRET = Question("key", "Key?", Secret())


class Never:
    """A reply that does not come, which nobody has to wait for."""

    def __await__(self) -> Any:
        return never().__await__()


# counting


def rest(resting: IdleTracker) -> bool:
    """Look anew: what it says changes between two looks."""
    return resting.is_idle


def test_nothing_rests_where_nobody_is_asked():
    resting = IdleTracker()
    assert not rest(resting)
    resting.start_batch(1)
    assert not rest(resting)
    resting.start_batch(0)
    assert not rest(resting)


def test_it_rests_once_every_call_that_lives_waits():
    resting = IdleTracker()
    resting.start_batch(3)
    with resting.waiting_for_person():
        assert not rest(resting)
        resting.end_call()
        assert not rest(resting)
        with resting.waiting_for_person():
            assert rest(resting)
        assert not rest(resting)
        resting.end_call()
        assert rest(resting)
    assert not rest(resting)


def test_calls_that_queue_wait_where_somebody_is_asked_at_the_gate_alone():
    resting = IdleTracker()
    resting.start_batch(2)
    with resting.queued_at_gate():
        assert not rest(resting)
        with resting.waiting_for_person():
            assert not rest(resting)
        with resting.waiting_for_person(gate=True):
            assert rest(resting)


def test_what_memory_alone_holds_is_not_put_down():
    resting = IdleTracker()
    resting.start_batch(1)
    with resting.waiting_for_person():
        with resting.prevent_idle(), resting.prevent_idle():
            assert not rest(resting)
        assert rest(resting)


@pytest.mark.parametrize("block", ["waiting_for_person", "queued_at_gate", "prevent_idle"])
def test_a_block_that_fails_counts_no_longer(block):
    resting = IdleTracker()
    with pytest.raises(RuntimeError), getattr(resting, block)():
        raise RuntimeError
    resting.start_batch(1)
    with resting.waiting_for_person():
        assert rest(resting)


async def test_who_waits_for_rest_is_woken_in_rest_and_who_waits_for_work_at_work():
    resting = IdleTracker()
    await resting.wait_busy()
    rest, seen = asyncio.create_task(resting.wait_idle()), []
    rest.add_done_callback(lambda _: seen.append(resting.is_idle))
    await asyncio.sleep(0)
    with ExitStack() as stack:
        resting.start_batch(1)
        with resting.waiting_for_person():
            pass
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not rest.done()  # it was over before anybody could look
        stack.enter_context(resting.waiting_for_person())
        await rest
        work = asyncio.create_task(resting.wait_busy())
        await asyncio.sleep(0)
        assert not work.done()
    await work
    assert seen == [True]


# what a turn does


async def rests(bench: Bench, calls: Any, ready: Any) -> bool:
    """Run the calls until they are ready, tell whether they rest, and stop them."""
    running = asyncio.create_task(bench.run(calls))
    await until(ready)
    for _ in range(10):
        await asyncio.sleep(0)
    found = bench.state.idle_tracker.is_idle
    bench.stop.interrupt(Stop())
    await running
    assert not bench.state.idle_tracker.is_idle
    assert not others()
    return found


def busy(name: str = "busy") -> Any:
    return StubTool(name, lambda *_: never())


def bench(*tools: Any, decisions: Any = (), **changes: Any) -> Any:
    made = Bench(tools, [Never(), Never()], changes=changes)
    made.prompter.decisions = [*decisions, Never(), Never()]
    return made


async def test_a_question_to_a_person_is_rest():
    made = bench(asks(CONFIRM))
    assert await rests(made, [CALL], lambda: made.prompter.asked)


async def test_a_permission_is_rest_for_the_calls_that_queue_behind_it_too():
    made = bench(asks(), tool={"run": Mode.ASK})
    calls = [CALL, called("c2", "tool"), called("c3", "tool")]
    assert await rests(made, calls, lambda: made.prompter.prompts)
    assert len(made.prompter.prompts) == 1


async def test_a_result_that_a_person_is_to_see_is_rest():
    made = bench(asks(), tool={"result": Mode.ASK})
    assert await rests(made, [CALL], lambda: made.prompter.prompts)


async def test_all_ways_of_waiting_are_rest_together_and_calls_that_have_ended_do_not_count():
    tools = (asks(CONFIRM, name="q"), asks(name="p"), asks(name="d"), asks(name="done"))
    made = bench(*tools, p={"run": Mode.ASK}, d={"result": Mode.ASK})
    calls = [called(name, name) for name in ("q", "p", "d", "done")]
    assert await rests(made, calls, lambda: made.prompter.asked and len(made.prompter.prompts) == 2)


@pytest.mark.parametrize("waits", ["question", "permission", "result"])
async def test_beside_a_tool_that_runs_nothing_is_rest(waits):
    tool = asks(CONFIRM) if waits == "question" else asks()
    changes = {"permission": {"run": Mode.ASK}, "result": {"result": Mode.ASK}}.get(waits, {})
    work = busy()
    made = bench(tool, work, tool=changes)
    ready = lambda: work.runs and (made.prompter.asked or made.prompter.prompts)  # noqa: E731  named where it is used
    assert not await rests(made, [CALL, called("c2", "busy")], ready)


async def test_a_call_that_was_let_through_the_gate_works_while_the_next_waits_there():
    work = busy("tool")
    made = bench(work, decisions=[Permitted({})], tool={"run": Mode.ASK})
    ready = lambda: len(made.prompter.prompts) == 2 and work.runs  # noqa: E731  named where it is used
    assert not await rests(made, [CALL, called("c2", "tool")], ready)


async def test_while_the_gate_passes_from_one_call_to_the_next_nothing_rests():
    """The next prompt is not put yet: who put the turn down then would leave nobody asked."""
    seen = []

    async def skip() -> Any:
        return Skipped()

    made = bench(asks(CONFIRM), asks(name="gated"), decisions=[skip()], gated={"run": Mode.ASK})
    reachable = made.prompter.has_reachable_person

    async def watched() -> Any:
        if made.prompter.prompts:
            seen.append(made.state.idle_tracker.is_idle)
        return await reachable()

    made.prompter.has_reachable_person = watched
    calls = [called("a", "gated"), called("b", "gated"), CALL]
    assert await rests(made, calls, lambda: len(made.prompter.prompts) == 2)
    assert seen
    assert not any(seen)


async def test_a_question_in_the_middle_of_a_call_is_no_rest():
    async def run(arguments: Any, answers: Any, ask: Any) -> Any:
        return Success(str(await ask(CONFIRM)))

    made = bench(OutsideStub("tool", run))
    assert not await rests(made, [CALL], lambda: made.prompter.asked)


async def test_a_question_at_the_inquiry_backend_is_no_rest():
    class Stuck:
        asked = 0

        async def inquire(self, *_: Any) -> Any:
            self.asked += 1
            await never()

    made = bench(asks(CONFIRM, config=QuestionConfig(QuestionTarget.ASSISTANT)))
    backend = Stuck()
    made = Bench(made.tools, backend=backend)
    assert not await rests(made, [CALL], lambda: backend.asked)


async def test_while_it_is_decided_who_answers_nothing_rests():
    made = bench(asks(CONFIRM))
    looking, seen = asyncio.Event(), asyncio.Event()

    async def reachable() -> bool:
        looking.set()
        await seen.wait()
        return True

    made.prompter.has_reachable_person = reachable
    running = asyncio.create_task(made.run([CALL]))
    await looking.wait()
    for _ in range(10):
        await asyncio.sleep(0)
    assert not made.state.idle_tracker.is_idle
    seen.set()
    await made.state.idle_tracker.wait_idle()
    assert made.prompter.asked
    made.stop.interrupt(Stop())
    await running


@pytest.mark.parametrize("given", ["person", "configuration"])
async def test_a_call_that_holds_a_secret_is_no_rest_until_its_tool_has_its_result(given):
    static = {"key": QuestionConfig(answer=StaticAnswer("hunter2"))}
    tool = asks(SECRET, CONFIRM)
    made = Bench((tool,), [Answer("hunter2"), Never()])
    if given == "configuration":
        made = Bench((tool,), [Never()], changes={"tool": {"questions": static}})
    asked = 2 if given == "person" else 1
    assert not await rests(made, [CALL], lambda: len(made.prompter.asked) == asked)
    after = Bench((asks(SECRET),), [Answer("hunter2")], changes={"tool": {"result": Mode.ASK}})
    after.prompter.decisions = [Never()]
    assert await rests(after, [CALL], lambda: after.prompter.prompts)


async def test_a_secret_that_one_call_holds_keeps_the_others_up():
    holding, waiting = asks(SECRET, CONFIRM), asks(CONFIRM, name="other")
    made = Bench((holding, waiting), [Never(), Answer("hunter2"), Never()])
    calls = [called("c2", "other"), CALL]
    assert not await rests(made, calls, lambda: len(made.prompter.asked) == 3)


async def test_calls_with_one_id_are_no_rest_since_their_results_cannot_be_told_apart():
    made = bench(asks(CONFIRM))
    assert not await rests(made, [CALL, CALL], lambda: len(made.prompter.asked) == 2)
    assert made.recorder.keeps == []


async def test_an_answer_is_the_end_of_rest_and_the_next_question_rest_again():
    gates = [asyncio.Event(), asyncio.Event()]

    async def reply(gate: asyncio.Event, value: Any) -> Any:
        await gate.wait()
        return Answer(value)

    second = Question("second", "?", Text())
    made = Bench((asks(CONFIRM, second),), [reply(gates[0], True), reply(gates[1], "x")])
    running = asyncio.create_task(made.run([CALL]))
    for number, gate in enumerate(gates):
        await made.state.idle_tracker.wait_idle()
        assert len(made.prompter.asked) == number + 1
        gate.set()
        await made.state.idle_tracker.wait_busy()
    await running


async def test_a_turn_tells_those_outside_when_it_rests():
    stage = Stage(QueueProvider([]), (asks(CONFIRM),), [Never()], ListRecorder())
    started = [ConversationEvent(AT, kind) for kind in (TurnStart(), ChatRequest("Go."))]
    stage.recorder.events += [*started, ConversationEvent(AT, CALL)]
    running = asyncio.create_task(resume_turn(stage.ports, stage.stop, stage.setup))
    await stage.ports.idle_tracker.wait_idle()
    stage.stop.interrupt(Stop())
    await running


async def test_while_the_model_answers_nothing_rests():
    provider = QueueProvider([[asyncio.Event()]])
    stage = Stage(provider)
    stage.recorder.events += [
        ConversationEvent(AT, kind) for kind in (TurnStart(), ChatRequest("Go."))
    ]
    running = asyncio.create_task(resume_turn(stage.ports, stage.stop, stage.setup))
    await until(lambda: provider.requests)
    assert not stage.ports.idle_tracker.is_idle
    stage.stop.interrupt(Stop())
    await running


async def test_a_result_is_kept_before_the_rest_begins():
    made = Bench((asks(CONFIRM), asks(name="quick")), [Never()])
    running = asyncio.create_task(made.run([CALL, called("c2", "quick")]))
    await made.state.idle_tracker.wait_idle()
    assert list(made.recorder.held) == ["c2"]
    made.stop.interrupt(Stop())
    await running

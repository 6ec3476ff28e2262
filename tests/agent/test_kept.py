"""What calls have come to outlives their process before it is on record."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from jpweb.agent.config import DetachedPolicy, Mode
from jpweb.agent.interrupts import Respond, Restart, Stop
from jpweb.agent.ports import (
    Answer,
    Declined,
    Delivered,
    Permitted,
    ReplyFinished,
    Skipped,
    TextDelta,
    Withheld,
)
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_outcome import CallProgress, Failed, Success
from jpweb.agent.turn import TurnEnd, resume_turn
from jpweb.stream.events import ChatRequest, ConversationEvent, ToolCallResponse, TurnStart
from jpweb.stream.inquiry import CancellationReason
from tests.agent.doubles import (
    AT,
    CONFIRM,
    Bench,
    ListRecorder,
    QueueProvider,
    Stage,
    StubTool,
    asks,
    never,
    until,
)
from tests.builders import called

DONE = (TextDelta("message", "Done."), ReplyFinished())
CALL, QUICK = called("c1", "tool"), called("c2", "quick")
STARTED = [TurnStart(), ChatRequest("Go.")]


def quick(outcome: Any = Success("result"), name: str = "quick") -> Any:  # noqa: B008  frozen
    return StubTool(name, lambda *_: outcome)


def stage(*calls: Any, tools: Any, held: Any, replies: Any = (), **changes: Any) -> Any:
    """Return a turn of which an earlier process left these calls, and held this of them."""
    events = [ConversationEvent(AT, kind) for kind in (*STARTED, *calls)]
    made = Stage(QueueProvider([DONE]), tools, list(replies), ListRecorder(events, held=dict(held)))
    configs = tuple(replace(c, **changes.get(c.name, {})) for c in made.setup.tools)
    made.setup = replace(made.setup, tools=configs)
    return made


async def resume(made: Any, **known: Any) -> Any:
    return await resume_turn(made.ports, made.stop, made.setup, **known)


# keeping


async def test_a_call_alone_keeps_nothing_since_its_response_is_recorded_at_once():
    bench = Bench((quick(),))
    await bench.run([QUICK])
    assert bench.recorder.keeps == []


@pytest.mark.parametrize("outcome", [Success("result"), Failed("result")])
async def test_what_has_ended_is_kept_while_others_go_on_and_gone_once_it_is_on_record(outcome):
    bench = Bench((quick(outcome), asks(CONFIRM)), [never()])
    running = asyncio.create_task(bench.run([QUICK, CALL]))
    await until(lambda: bench.prompter.asked)
    kept = CallProgress("result", is_error=isinstance(outcome, Failed), is_final=True)
    assert bench.recorder.keeps == [("c2", kept)]
    bench.stop.interrupt(Stop())
    await running
    assert bench.recorder.keeps == [("c2", kept)]
    assert bench.recorder.held == {}


async def test_a_result_is_kept_before_a_person_is_asked_to_let_it_through():
    bench = Bench((quick(),), changes={"quick": {"result": Mode.ASK, "run": Mode.EDIT}})
    bench.prompter.decisions = [Permitted({"n": 2}), never()]
    running = asyncio.create_task(bench.run([QUICK]))
    await until(lambda: len(bench.prompter.prompts) == 2)
    kept = CallProgress("result", edited={"n": 2}, is_final=False)
    assert bench.recorder.held == {"c2": kept}
    bench.stop.interrupt(Stop())
    await running
    assert bench.recorder.keeps == [("c2", kept)]


@pytest.mark.parametrize(
    ("decision", "content"),
    [(Delivered(), "result"), (Delivered("less"), "less"), (Withheld(), model_messages.WITHHELD)],
)
async def test_what_a_person_lets_through_replaces_what_they_were_shown(decision, content):
    changes = {"quick": {"result": Mode.ASK, "run": Mode.EDIT}}
    bench = Bench((quick(), asks(CONFIRM)), [never()], changes=changes)
    bench.prompter.decisions = [Permitted({"n": 2}), decision]
    running = asyncio.create_task(bench.run([QUICK, CALL]))
    await until(lambda: len(bench.recorder.keeps) == 2 and bench.prompter.asked)
    final = CallProgress(content, edited={"n": 2}, is_final=True)
    assert bench.recorder.held == {"c2": final}
    bench.stop.interrupt(Stop())
    await running
    assert bench.recorder.notes(ToolCallResponse)[0] == {"arguments": {"n": 2}}


async def test_what_a_person_skipped_is_kept_so_that_nobody_is_asked_twice():
    bench = Bench((quick(), asks(CONFIRM)), [never()], changes={"quick": {"run": Mode.ASK}})
    bench.prompter.decisions = [Skipped("No.")]
    running = asyncio.create_task(bench.run([QUICK, CALL]))
    await until(lambda: bench.recorder.keeps)
    assert bench.recorder.held == {
        "c2": CallProgress(model_messages.describe_skip("No."), is_final=True)
    }
    bench.stop.interrupt(Stop())
    await running


async def test_calls_that_were_interrupted_have_nothing_to_keep():
    bench = Bench((asks(CONFIRM),), [never(), never()])
    running = asyncio.create_task(bench.run([CALL, called("c2", "tool")]))
    await until(lambda: len(bench.prompter.asked) == 2)
    bench.stop.interrupt(Respond("Leave it."))
    await running
    assert bench.recorder.keeps == []


async def test_a_restart_throws_away_what_is_held():
    bench = Bench((quick(), asks(CONFIRM)), [never(), Answer(value=True)])
    running = asyncio.create_task(bench.run([QUICK, CALL]))
    await until(lambda: bench.prompter.asked)
    assert list(bench.recorder.held) == ["c2"]
    bench.recorder.held["c9"] = CallProgress("of nobody")
    bench.stop.interrupt(Restart())
    await running
    assert bench.recorder.held == {}
    assert len(bench.tools[0].runs) == 2


# going on


async def test_what_is_kept_is_not_run_again_and_said_as_it_was():
    held = {"c2": CallProgress("kept", is_error=True, edited={"n": 1}, is_final=True)}
    tools = (asks(CONFIRM), quick())
    made = stage(CALL, QUICK, tools=tools, held=held, replies=[Answer(value=True)])
    assert await resume(made) is TurnEnd.COMPLETE
    assert made.recorder.results == [("c1", "done", False), ("c2", "kept", True)]
    assert made.tools[1].runs == []
    assert made.recorder.notes(ToolCallResponse) == [{"again": True}, {"arguments": {"n": 1}}]
    assert [name for name, _ in made.recorder.keeps if name == "c2"] == []


@pytest.mark.parametrize(
    ("decision", "content"),
    [(Delivered(), "kept"), (Delivered("less"), "less"), (Withheld(), model_messages.WITHHELD)],
)
@pytest.mark.parametrize("mode", [Mode.ASK, Mode.EDIT])
async def test_a_result_that_a_person_had_to_see_goes_straight_to_them(mode, decision, content):
    held = {"c2": CallProgress("kept", is_error=False, edited={"n": 1})}
    made = stage(QUICK, tools=(quick(),), held=held, quick={"result": mode, "run": Mode.ASK})
    made.prompter.decisions = [decision]
    assert await resume(made, waiting=frozenset({"c2"})) is TurnEnd.COMPLETE
    [prompt] = made.prompter.prompts
    assert (prompt.content, prompt.is_error, prompt.edit) == ("kept", False, mode is Mode.EDIT)
    assert made.tools[0].runs == []
    assert made.recorder.results == [("c2", content, False)]
    assert made.recorder.notes(ToolCallResponse) == [{"arguments": {"n": 1}}]


async def test_a_result_that_a_person_had_to_see_is_theirs_though_nobody_is_there_now():
    """They may have decided already, before they left: the policy is not asked again."""
    held = {"c2": CallProgress("kept")}
    made = stage(QUICK, tools=(quick(),), held=held, quick={"result": Mode.ASK})
    made.setup = replace(made.setup, detached=DetachedPolicy.AUTO)
    made.prompter.is_reachable = False
    made.prompter.decisions = [Withheld()]
    await resume(made)
    assert made.recorder.results == [("c2", model_messages.WITHHELD, False)]


async def test_a_result_whose_tool_is_gone_is_still_a_persons_to_let_through():
    made = stage(called("c2", "gone"), tools=(quick(),), held={"c2": CallProgress("kept")})
    made.prompter.decisions = [never()]
    running = asyncio.create_task(resume(made))
    await until(lambda: made.prompter.prompts)
    made.stop.interrupt(Stop())
    assert await running is TurnEnd.STOPPED
    assert made.recorder.results == [("c2", model_messages.STOPPED, False)]


async def test_what_was_let_through_after_the_process_ended_is_kept_as_final():
    tools = (asks(CONFIRM), quick())
    made = stage(CALL, QUICK, tools=tools, held={"c2": CallProgress("kept")}, replies=[never()])
    made.prompter.decisions = [Withheld()]
    running = asyncio.create_task(resume(made))
    final = CallProgress(model_messages.WITHHELD, is_final=True)
    await until(lambda: made.recorder.held.get("c2") == final and made.prompter.asked)
    made.stop.interrupt(Stop())
    await running


async def test_a_restart_runs_what_was_kept_by_an_earlier_process():
    held = {"c2": CallProgress("kept", is_final=True)}
    replies = [never(), Answer(value=True)]
    made = stage(CALL, QUICK, tools=(asks(CONFIRM), quick()), held=held, replies=replies)
    running = asyncio.create_task(resume(made))
    await until(lambda: made.prompter.asked)
    made.stop.interrupt(Restart())
    await running
    assert made.recorder.results == [("c1", "done", False), ("c2", "result", False)]
    assert made.recorder.notes(ToolCallResponse) == [{"again": True}, None]


async def test_where_no_call_is_open_nothing_kept_is_looked_for():
    made = stage(tools=(), held={"c2": CallProgress("kept", is_final=True)})
    made.recorder.load_progress = never
    assert await resume(made) is TurnEnd.COMPLETE


async def test_of_calls_with_one_id_none_takes_what_is_kept():
    held = {"c2": CallProgress("kept", is_final=True)}
    made = stage(QUICK, QUICK, tools=(quick(),), held=held)
    await resume(made)
    assert [content for _, content, _ in made.recorder.results] == ["result", "result"]
    assert made.recorder.keeps == []


# that a call was running when a process ended outlives the next ones too


async def test_a_call_that_is_run_again_says_so_though_its_result_is_recorded_by_a_third_process():
    tools = (asks(CONFIRM), quick())
    made = stage(CALL, QUICK, tools=tools, held={"c1": CallProgress(None)}, replies=[never()])
    running = asyncio.create_task(resume(made))
    await until(lambda: made.prompter.asked and len(made.recorder.keeps) == 2)
    running.cancel()
    await asyncio.wait([running])
    assert made.recorder.held["c2"] == CallProgress("result", is_final=True, was_cut_off=True)
    after = stage(tools=tools, held=made.recorder.held, replies=[Answer(value=True)])
    after.recorder.events = list(made.recorder.events)
    await resume(after)
    assert after.recorder.notes(ToolCallResponse) == [None, {"again": True}]


async def test_a_call_that_waits_for_a_new_permission_says_so_once_it_has_run():
    changes = {"quick": {"run": Mode.ASK}}
    made = stage(QUICK, tools=(quick(),), held={}, **changes)
    made.prompter.decisions = [never()]
    running = asyncio.create_task(resume(made))
    await until(lambda: made.prompter.prompts)
    running.cancel()
    await asyncio.wait([running])
    assert made.recorder.held == {"c2": CallProgress(None, was_cut_off=True)}
    after = stage(QUICK, tools=(quick(),), held=made.recorder.held, **changes)
    after.prompter.decisions = [Permitted({})]
    await resume(after, waiting=frozenset({"c2"}))
    assert after.recorder.notes(ToolCallResponse) == [{"again": True}]


async def test_a_call_that_is_not_run_after_all_says_nothing_of_running_again():
    made = stage(QUICK, tools=(quick(),), held={}, quick={"run": Mode.ASK})
    made.prompter.decisions = [Skipped()]
    await resume(made)
    assert made.recorder.notes(ToolCallResponse) == [None]


async def test_a_restart_does_not_make_anybody_forget_that_a_call_was_running():
    made = stage(CALL, tools=(asks(CONFIRM),), held={}, replies=[never(), never()])
    running = asyncio.create_task(resume(made))
    await until(lambda: len(made.prompter.asked) == 1)
    made.stop.interrupt(Restart())
    await until(lambda: len(made.prompter.asked) == 2)
    assert made.recorder.held == {"c1": CallProgress(None, was_cut_off=True)}
    made.stop.interrupt(Stop())
    await running
    assert made.recorder.notes(ToolCallResponse) == [{"again": True}]


async def test_a_call_with_a_kept_result_that_waits_for_a_person_says_again_too():
    held = {"c2": CallProgress("kept", was_cut_off=True)}
    made = stage(QUICK, tools=(quick(),), held=held, quick={"result": Mode.ASK})
    made.prompter.decisions = [Delivered()]
    await resume(made)
    assert made.recorder.notes(ToolCallResponse) == [{"again": True}]


async def test_a_result_that_a_person_was_asked_about_held_up_no_permission():
    """Its call had passed the gate, and the next one may have been running."""
    calls = [called("c1", "quick"), QUICK]
    made = stage(
        *calls, tools=(quick(),), held={"c1": CallProgress("kept")}, quick={"run": Mode.ASK}
    )
    made.prompter.decisions = [Delivered(), Permitted({})]
    await resume(made, waiting=frozenset({"c1"}))
    assert made.recorder.notes(ToolCallResponse) == [None, {"again": True}]


async def test_a_call_that_was_edited_and_then_declined_tells_with_what_it_ran():
    declined = Declined(CancellationReason.USER)
    bench = Bench((asks(CONFIRM),), [declined], changes={"tool": {"run": Mode.EDIT}})
    bench.prompter.decisions = [Permitted({"n": 2})]
    await bench.run([CALL])
    assert bench.recorder.notes(ToolCallResponse) == [{"arguments": {"n": 2}}]

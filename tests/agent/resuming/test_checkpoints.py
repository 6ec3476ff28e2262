"""What calls have come to outlives their process before it is on record."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from jpweb.agent.config import ApprovalMode, DetachedPolicy
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
from jpweb.agent.turn import TurnEnd
from jpweb.stream.events import ChatRequest, ConversationEvent, ToolCallResponse, TurnStart
from jpweb.stream.inquiry import CancellationReason
from tests.agent.doubles import (
    AT,
    CONFIRM,
    QueueProvider,
    StubTool,
    ToolBench,
    TurnBench,
    make_asker,
    wait_forever,
    wait_until,
)
from tests.agent.recorder import ListRecorder
from tests.agent.resuming.journals import resume
from tests.builders import make_call

DONE = (TextDelta("message", "Done."), ReplyFinished())
CALL, QUICK = make_call("c1", "tool"), make_call("c2", "quick")
STARTED = [TurnStart(), ChatRequest("Go.")]


def quick(outcome: Any = Success("result"), name: str = "quick") -> Any:  # noqa: B008  frozen
    return StubTool(name, lambda *_: outcome)


def make_turn(*calls: Any, tools: Any, progress: Any, replies: Any = (), **changes: Any) -> Any:
    """Return a turn of which an earlier process left these calls, and held this of them."""
    events = [ConversationEvent(AT, kind) for kind in (*STARTED, *calls)]
    turn = TurnBench(
        QueueProvider([DONE]), tools, list(replies), ListRecorder(events, progress=dict(progress))
    )
    configs = tuple(replace(c, **changes.get(c.name, {})) for c in turn.setup.tools)
    turn.setup = replace(turn.setup, tools=configs)
    return turn


# keeping


async def test_single_call_has_no_checkpoint():
    bench = ToolBench((quick(),))
    await bench.run([QUICK])
    assert bench.recorder.saved_progress == []


@pytest.mark.parametrize("outcome", [Success("result"), Failed("result")])
async def test_result_is_checkpointed_until_it_is_recorded(outcome):
    bench = ToolBench((quick(outcome), make_asker(CONFIRM)), [wait_forever()])
    task = asyncio.create_task(bench.run([QUICK, CALL]))
    await wait_until(lambda: bench.prompter.questions)
    progress = CallProgress("result", is_error=isinstance(outcome, Failed), is_final=True)
    assert bench.recorder.saved_progress == [("c2", progress)]
    bench.stop.interrupt(Stop())
    await task
    assert bench.recorder.saved_progress == [("c2", progress)]
    assert bench.recorder.progress == {}


async def test_result_is_checkpointed_before_its_approval():
    bench = ToolBench(
        (quick(),), changes={"quick": {"result": ApprovalMode.ASK, "run": ApprovalMode.EDIT}}
    )
    bench.prompter.decisions = [Permitted({"n": 2}), wait_forever()]
    task = asyncio.create_task(bench.run([QUICK]))
    await wait_until(lambda: len(bench.prompter.prompts) == 2)
    progress = CallProgress("result", edited={"n": 2}, is_final=False)
    assert bench.recorder.progress == {"c2": progress}
    bench.stop.interrupt(Stop())
    await task
    assert bench.recorder.saved_progress == [("c2", progress)]


@pytest.mark.parametrize(
    ("decision", "content"),
    [(Delivered(), "result"), (Delivered("less"), "less"), (Withheld(), model_messages.WITHHELD)],
)
async def test_approved_result_replaces_the_checkpointed_result(decision, content):
    changes = {"quick": {"result": ApprovalMode.ASK, "run": ApprovalMode.EDIT}}
    bench = ToolBench((quick(), make_asker(CONFIRM)), [wait_forever()], changes=changes)
    bench.prompter.decisions = [Permitted({"n": 2}), decision]
    task = asyncio.create_task(bench.run([QUICK, CALL]))
    await wait_until(lambda: len(bench.recorder.saved_progress) == 2 and bench.prompter.questions)
    final = CallProgress(content, edited={"n": 2}, is_final=True)
    assert bench.recorder.progress == {"c2": final}
    bench.stop.interrupt(Stop())
    await task
    assert bench.recorder.notes(ToolCallResponse)[0] == {"arguments": {"n": 2}}


async def test_skipped_call_is_checkpointed_as_final():
    bench = ToolBench(
        (quick(), make_asker(CONFIRM)),
        [wait_forever()],
        changes={"quick": {"run": ApprovalMode.ASK}},
    )
    bench.prompter.decisions = [Skipped("No.")]
    task = asyncio.create_task(bench.run([QUICK, CALL]))
    await wait_until(lambda: bench.recorder.saved_progress)
    assert bench.recorder.progress == {
        "c2": CallProgress(model_messages.describe_skip("No."), is_final=True)
    }
    bench.stop.interrupt(Stop())
    await task


async def test_interrupted_calls_have_no_checkpoint():
    bench = ToolBench((make_asker(CONFIRM),), [wait_forever(), wait_forever()])
    task = asyncio.create_task(bench.run([CALL, make_call("c2", "tool")]))
    await wait_until(lambda: len(bench.prompter.questions) == 2)
    bench.stop.interrupt(Respond("Leave it."))
    await task
    assert bench.recorder.saved_progress == []


async def test_restart_discards_checkpoints():
    bench = ToolBench((quick(), make_asker(CONFIRM)), [wait_forever(), Answer(value=True)])
    task = asyncio.create_task(bench.run([QUICK, CALL]))
    await wait_until(lambda: bench.prompter.questions)
    assert list(bench.recorder.progress) == ["c2"]
    bench.recorder.progress["c9"] = CallProgress("of nobody")
    bench.stop.interrupt(Restart())
    await task
    assert bench.recorder.progress == {}
    assert len(bench.tools[0].runs) == 2


# going on


async def test_checkpointed_call_does_not_rerun_and_is_recorded_unchanged():
    progress = {"c2": CallProgress("kept", is_error=True, edited={"n": 1}, is_final=True)}
    tools = (make_asker(CONFIRM), quick())
    turn = make_turn(CALL, QUICK, tools=tools, progress=progress, replies=[Answer(value=True)])
    assert await resume(turn) is TurnEnd.COMPLETE
    assert turn.recorder.results == [("c1", "done", False), ("c2", "kept", True)]
    assert turn.tools[1].runs == []
    assert turn.recorder.notes(ToolCallResponse) == [{"again": True}, {"arguments": {"n": 1}}]
    assert [name for name, _ in turn.recorder.saved_progress if name == "c2"] == []


@pytest.mark.parametrize(
    ("decision", "content"),
    [(Delivered(), "kept"), (Delivered("less"), "less"), (Withheld(), model_messages.WITHHELD)],
)
@pytest.mark.parametrize("mode", [ApprovalMode.ASK, ApprovalMode.EDIT])
async def test_checkpointed_result_goes_to_its_approval_without_a_rerun(mode, decision, content):
    progress = {"c2": CallProgress("kept", is_error=False, edited={"n": 1})}
    turn = make_turn(
        QUICK, tools=(quick(),), progress=progress, quick={"result": mode, "run": ApprovalMode.ASK}
    )
    turn.prompter.decisions = [decision]
    assert await resume(turn, waiting_call_ids=frozenset({"c2"})) is TurnEnd.COMPLETE
    [prompt] = turn.prompter.prompts
    assert (prompt.content, prompt.is_error, prompt.edit) == (
        "kept",
        False,
        mode is ApprovalMode.EDIT,
    )
    assert turn.tools[0].runs == []
    assert turn.recorder.results == [("c2", content, False)]
    assert turn.recorder.notes(ToolCallResponse) == [{"arguments": {"n": 1}}]


async def test_result_approval_stays_open_after_resuming_without_a_person():
    """They may have decided already, before they left: the policy is not asked again."""
    progress = {"c2": CallProgress("kept")}
    turn = make_turn(QUICK, tools=(quick(),), progress=progress, quick={"result": ApprovalMode.ASK})
    turn.setup = replace(turn.setup, detached=DetachedPolicy.AUTO)
    turn.prompter.is_reachable = False
    turn.prompter.decisions = [Withheld()]
    await resume(turn)
    assert turn.recorder.results == [("c2", model_messages.WITHHELD, False)]


async def test_checkpointed_result_of_a_removed_tool_needs_approval():
    turn = make_turn(
        make_call("c2", "gone"),
        tools=(quick(),),
        progress={"c2": CallProgress("kept", edited={"n": 1})},
    )
    turn.prompter.decisions = [wait_forever()]
    task = asyncio.create_task(resume(turn))
    await wait_until(lambda: turn.prompter.prompts)
    turn.stop.interrupt(Stop())
    assert await task is TurnEnd.STOPPED
    assert turn.recorder.results == [("c2", model_messages.STOPPED, False)]
    assert turn.recorder.notes(ToolCallResponse) == [{"arguments": {"n": 1}}]


async def test_approval_of_a_checkpointed_result_is_checkpointed_as_final():
    tools = (make_asker(CONFIRM), quick())
    turn = make_turn(
        CALL, QUICK, tools=tools, progress={"c2": CallProgress("kept")}, replies=[wait_forever()]
    )
    turn.prompter.decisions = [Withheld()]
    task = asyncio.create_task(resume(turn))
    final = CallProgress(model_messages.WITHHELD, is_final=True)
    await wait_until(lambda: turn.recorder.progress.get("c2") == final and turn.prompter.questions)
    turn.stop.interrupt(Stop())
    await task


async def test_restart_reruns_calls_checkpointed_by_an_earlier_process():
    progress = {"c2": CallProgress("kept", is_final=True)}
    replies = [wait_forever(), Answer(value=True)]
    turn = make_turn(
        CALL, QUICK, tools=(make_asker(CONFIRM), quick()), progress=progress, replies=replies
    )
    task = asyncio.create_task(resume(turn))
    await wait_until(lambda: turn.prompter.questions)
    turn.stop.interrupt(Restart())
    await task
    assert turn.recorder.results == [("c1", "done", False), ("c2", "result", False)]
    assert turn.recorder.notes(ToolCallResponse) == [{"again": True}, None]


async def test_resumed_turn_without_open_calls_loads_no_checkpoints():
    turn = make_turn(tools=(), progress={"c2": CallProgress("kept", is_final=True)})
    turn.recorder.load_progress = wait_forever
    assert await resume(turn) is TurnEnd.COMPLETE


async def test_calls_with_equal_ids_use_no_checkpoint():
    progress = {"c2": CallProgress("kept", is_final=True)}
    turn = make_turn(QUICK, QUICK, tools=(quick(),), progress=progress)
    await resume(turn)
    assert [content for _, content, _ in turn.recorder.results] == ["result", "result"]
    assert turn.recorder.saved_progress == []


# that a call was running when a process ended outlives the next ones too


async def test_rerun_call_says_so_also_when_a_third_process_records_it():
    tools = (make_asker(CONFIRM), quick())
    turn = make_turn(
        CALL, QUICK, tools=tools, progress={"c1": CallProgress(None)}, replies=[wait_forever()]
    )
    task = asyncio.create_task(resume(turn))
    await wait_until(lambda: turn.prompter.questions and len(turn.recorder.saved_progress) == 2)
    task.cancel()
    await asyncio.wait([task])
    assert turn.recorder.progress["c2"] == CallProgress("result", is_final=True, was_cut_off=True)
    after = make_turn(tools=tools, progress=turn.recorder.progress, replies=[Answer(value=True)])
    after.recorder.events = list(turn.recorder.events)
    await resume(after)
    assert after.recorder.notes(ToolCallResponse) == [None, {"again": True}]


async def test_a_call_that_waits_for_a_new_permission_says_so_once_it_has_run():
    changes = {"quick": {"run": ApprovalMode.ASK}}
    turn = make_turn(QUICK, tools=(quick(),), progress={}, **changes)
    turn.prompter.decisions = [wait_forever()]
    task = asyncio.create_task(resume(turn))
    await wait_until(lambda: turn.prompter.prompts)
    task.cancel()
    await asyncio.wait([task])
    assert turn.recorder.progress == {"c2": CallProgress(None, was_cut_off=True)}
    after = make_turn(QUICK, tools=(quick(),), progress=turn.recorder.progress, **changes)
    after.prompter.decisions = [Permitted({})]
    await resume(after, waiting_call_ids=frozenset({"c2"}))
    assert after.recorder.notes(ToolCallResponse) == [{"again": True}]


async def test_a_call_that_is_not_run_after_all_says_nothing_of_running_again():
    turn = make_turn(QUICK, tools=(quick(),), progress={}, quick={"run": ApprovalMode.ASK})
    turn.prompter.decisions = [Skipped()]
    await resume(turn)
    assert turn.recorder.notes(ToolCallResponse) == [None]


async def test_restart_keeps_the_note_that_a_call_was_running():
    turn = make_turn(
        CALL, tools=(make_asker(CONFIRM),), progress={}, replies=[wait_forever(), wait_forever()]
    )
    task = asyncio.create_task(resume(turn))
    await wait_until(lambda: len(turn.prompter.questions) == 1)
    turn.stop.interrupt(Restart())
    await wait_until(lambda: len(turn.prompter.questions) == 2)
    assert turn.recorder.progress == {"c1": CallProgress(None, was_cut_off=True)}
    turn.stop.interrupt(Stop())
    await task
    assert turn.recorder.notes(ToolCallResponse) == [{"again": True}]


async def test_a_call_with_a_kept_result_that_waits_for_a_person_says_again_too():
    progress = {"c2": CallProgress("kept", was_cut_off=True)}
    turn = make_turn(QUICK, tools=(quick(),), progress=progress, quick={"result": ApprovalMode.ASK})
    turn.prompter.decisions = [Delivered()]
    await resume(turn)
    assert turn.recorder.notes(ToolCallResponse) == [{"again": True}]


async def test_a_result_that_a_person_was_asked_about_held_up_no_permission():
    """Its call had passed the gate, and the next one may have been running."""
    calls = [make_call("c1", "quick"), QUICK]
    turn = make_turn(
        *calls,
        tools=(quick(),),
        progress={"c1": CallProgress("kept")},
        quick={"run": ApprovalMode.ASK},
    )
    turn.prompter.decisions = [Delivered(), Permitted({})]
    await resume(turn, waiting_call_ids=frozenset({"c1"}))
    assert turn.recorder.notes(ToolCallResponse) == [None, {"again": True}]


async def test_declined_call_notes_its_edited_arguments():
    declined = Declined(CancellationReason.USER)
    bench = ToolBench(
        (make_asker(CONFIRM),), [declined], changes={"tool": {"run": ApprovalMode.EDIT}}
    )
    bench.prompter.decisions = [Permitted({"n": 2})]
    await bench.run([CALL])
    assert bench.recorder.notes(ToolCallResponse) == [{"arguments": {"n": 2}}]

"""Permissions that a call needs again: after a restart, and where its process ended."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jpweb.agent.config import ApprovalMode
from jpweb.agent.interrupts import Stop
from jpweb.agent.ports import Permitted, Skipped
from jpweb.agent.tool_outcome import Success
from jpweb.agent.turn import TurnEnd
from jpweb.stream.events import ToolCallResponse
from tests.agent.doubles import (
    CONFIRM,
    QueueProvider,
    StubTool,
    TurnBench,
    make_asker,
    setup_of,
    wait_forever,
    wait_until,
)
from tests.agent.recorder import ListRecorder
from tests.agent.resuming.journals import CALL, DONE, NOTE, SAYS, START, WAITS, event, resume
from tests.builders import make_answer

ANSWERED = (
    event(WAITS, **NOTE, permitted=True),
    event(make_answer("c1.confirm.1"), by={"kind": "person"}),
)


def make_turn(*events, decisions, tools=None, gate=ApprovalMode.ASK, replies=()) -> Any:
    """Return a turn whose gated calls an earlier process left, with people's decisions."""
    recorder = ListRecorder([event(START), event(SAYS), event(CALL), *events])
    tools = (make_asker(CONFIRM),) if tools is None else tools
    turn = TurnBench(QueueProvider([DONE]), tools, list(replies), recorder)
    turn.setup = setup_of(turn.tools, {tool.NAME: {"run": gate} for tool in tools})
    turn.prompter.decisions = list(decisions)
    return turn


async def test_call_whose_second_permission_is_refused_does_not_run():
    turn = make_turn(*ANSWERED, decisions=[Skipped()])
    await resume(turn, waiting_call_ids=frozenset({"c1"}))
    assert turn.tools[0].runs == []
    assert turn.recorder.results == [("c1", "Tool skipped by user.", False)]


@pytest.mark.parametrize(
    "gate", [ApprovalMode.EDIT, ApprovalMode.UNATTENDED], ids=["edit", "no gate any more"]
)
async def test_arguments_edited_in_the_second_permission_are_those_that_run(gate):
    run_arguments: list[Any] = []

    def run(arguments, answers) -> Any:
        run_arguments.append(dict(arguments))
        return Success("done")

    turn = make_turn(
        *ANSWERED, decisions=[Permitted({"n": 2})], tools=(StubTool("tool", run),), gate=gate
    )
    await resume(turn, waiting_call_ids=frozenset({"c1"}))
    assert run_arguments == [{"n": 2}]
    assert turn.recorder.notes(ToolCallResponse) == [{"arguments": {"n": 2}}]


@pytest.mark.parametrize("is_answered", [False, True], ids=["open", "answered since"])
async def test_open_permission_stays_open_when_another_event_resumes_the_turn(is_answered):
    """An answer to another call's question wakes it, and so does one to the call's own."""
    events = ANSWERED if is_answered else ANSWERED[:1]
    turn = make_turn(*events, decisions=[wait_forever()])
    task = asyncio.create_task(resume(turn, waiting_call_ids=frozenset({"c1"})))
    await wait_until(lambda: turn.prompter.prompts)
    assert turn.tools[0].runs == []
    turn.stop.interrupt(Stop())
    assert await task is TurnEnd.STOPPED


async def test_call_that_waits_at_a_question_needs_no_second_permission():
    turn = make_turn(*ANSWERED, decisions=[])
    await resume(turn)
    assert turn.tools[0].runs == [{"confirm": True}]
    assert turn.prompter.prompts == []

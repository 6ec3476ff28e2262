"""Permission before a call and delivery after it, as people meet them."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

import pytest

from jpweb.agent.config import ApprovalMode, DetachedPolicy, ToolCommand, ToolConfig
from jpweb.agent.config.types import BuiltinSource, LocalSource, McpSource
from jpweb.agent.interrupts import Stop
from jpweb.agent.ports import (
    Answer,
    Declined,
    Delivered,
    DeliverPrompt,
    Permitted,
    RunPrompt,
    Skipped,
    Withheld,
)
from jpweb.agent.tool_calls import model_messages
from jpweb.agent.tool_calls.prompting import describe_tool
from jpweb.agent.tool_calls.turn_state import PermissionKey, TurnState
from jpweb.agent.tool_outcome import Failed, Success
from jpweb.stream.events import ToolCallRequest, ToolCallResponse
from jpweb.stream.inquiry import CancellationReason, InquiryRequest
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

ASK, UNATTENDED, EDIT, SKIP = ApprovalMode
CALL = make_call("c1", "tool", path="a")
KEY = PermissionKey("tool")


def echo(name="tool") -> Any:
    return StubTool(name, lambda arguments, _: Success(f"{dict(arguments)}"))


def make_bench(*decisions, detached=DetachedPolicy.AUTO, tools=None, state=None, **changes) -> Any:
    bench = ToolBench(
        tools or (echo(),),
        changes={"tool": changes},
        detached=detached,
        state=state or TurnState(),
    )
    bench.prompter.decisions = list(decisions)
    return bench


async def test_a_call_that_is_asked_about_runs_once_it_may():
    bench = make_bench(Permitted({"path": "a"}), run=ASK)
    await bench.run([CALL])
    assert bench.prompter.prompts == [RunPrompt("c1", "tool", "tool (built-in)", {"path": "a"})]
    assert bench.recorder.results == [("c1", "{'path': 'a'}", False)]
    assert bench.recorder.notes(ToolCallResponse) == [None]


async def test_edited_arguments_reach_the_tool_and_the_record_keeps_the_models():
    editing = make_bench(Permitted({"path": "b"}), run=EDIT)
    await editing.run([CALL])
    assert editing.prompter.prompts[0].edit
    assert editing.recorder.results == [("c1", "{'path': 'b'}", False)]
    assert editing.recorder.of(ToolCallRequest) == []
    assert editing.recorder.notes(ToolCallResponse) == [{"arguments": {"path": "b"}}]


@pytest.mark.parametrize(("original", "edited"), [(1, True), (1, 1.0), (0, False)])
async def test_an_edit_to_another_type_is_an_edit(original, edited):
    bench = make_bench(Permitted({"n": edited}), tools=(make_asker(CONFIRM),), run=EDIT)
    bench.replies.append(Answer(value=True))
    await bench.run([make_call("c1", "tool", n=original)])
    for kind in (InquiryRequest, ToolCallResponse):
        [note] = bench.recorder.notes(kind)
        assert json.dumps(note["arguments"]) == json.dumps({"n": edited})


@pytest.mark.parametrize("mode", [SKIP, ASK])
async def test_a_withheld_result_keeps_the_arguments_that_a_person_edited(mode):
    def leave(arguments, answers):
        bench.prompter.is_reachable = False
        return Success("done")

    bench = make_bench(
        Permitted({"path": "b"}),
        tools=(StubTool("tool", leave),),
        run=EDIT,
        result=mode,
        detached=DetachedPolicy.DENY,
    )
    await bench.run([CALL])
    assert len(bench.prompter.prompts) == 1
    [note] = bench.recorder.notes(ToolCallResponse)
    assert note.pop("delivery")["policy"] == ("skip" if mode is SKIP else "detached")
    assert note == {"arguments": {"path": "b"}}


@pytest.mark.parametrize(
    ("decision", "text"),
    [
        (Skipped(), "Tool skipped by user."),
        (Skipped("Not today."), "Tool skipped by user: Not today."),
    ],
)
async def test_a_skipped_call_is_no_error_and_does_not_run(decision, text):
    skipping = make_bench(decision, run=ASK)
    await skipping.run([CALL])
    assert skipping.recorder.results == [("c1", text, False)]
    assert skipping.tools[0].runs == []


async def test_tool_in_mode_skip_does_not_run_and_asks_no_approval():
    skipping = make_bench(run=SKIP)
    await skipping.run([CALL])
    assert skipping.recorder.results == [("c1", model_messages.SKIPPED, False)]
    assert skipping.prompter.prompts == []
    assert skipping.tools[0].runs == []


async def test_a_permission_holds_for_the_tools_later_calls_when_remembered():
    bench = make_bench(Permitted({}, remember=True), run=ASK)
    await bench.run([CALL, make_call("c2", "tool", path="other")])
    await bench.run([make_call("c3", "tool")])
    assert len(bench.prompter.prompts) == 1
    assert len(bench.tools[0].runs) == 3
    assert bench.state.remembered_permission_decisions == {KEY: True}


async def test_a_skip_holds_for_the_tools_later_calls_when_remembered():
    bench = make_bench(Skipped("No.", remember=True), run=ASK)
    await bench.run([CALL, make_call("c2", "tool")])
    assert bench.recorder.results == [
        ("c1", "Tool skipped by user: No.", False),
        ("c2", "Tool skipped by user (remembered).", False),
    ]
    assert len(bench.prompter.prompts) == 1
    assert bench.state.remembered_permission_decisions == {KEY: False}


@pytest.mark.parametrize("decision", [Permitted({}), Skipped()])
async def test_a_decision_is_not_remembered_unasked(decision):
    bench = make_bench(decision, decision, run=ASK)
    await bench.run([CALL, CALL])
    assert len(bench.prompter.prompts) == 2
    assert bench.state.remembered_permission_decisions == {}


async def test_a_decision_about_one_tool_says_nothing_of_another():
    two = ToolBench((echo("a"), echo("b")), changes={name: {"run": ASK} for name in ("a", "b")})
    two.prompter.decisions = [Skipped(remember=True), Permitted({})]
    await two.run([make_call("1", "a"), make_call("2", "b")])
    assert two.recorder.results == [("1", model_messages.SKIPPED, False), ("2", "{}", False)]


async def test_permissions_are_asked_one_at_a_time_in_the_order_of_the_calls():
    gates = [asyncio.Event() for _ in range(3)]

    async def decide(gate) -> Any:
        await gate.wait()
        return Permitted({})

    bench = make_bench(*(decide(gate) for gate in gates), run=ASK)

    def at(number) -> bool:
        return (len(bench.prompter.prompts), len(bench.tools[0].runs)) == (number + 1, number)

    task = asyncio.create_task(bench.run([make_call(f"c{n}", "tool") for n in range(3)]))
    for number, gate in enumerate(gates):
        await wait_until(partial(at, number))
        assert [prompt.tool_call_id for prompt in bench.prompter.prompts] == [
            f"c{n}" for n in range(number + 1)
        ]
        gate.set()
    await task
    assert len(bench.tools[0].runs) == 3


async def test_a_call_that_needs_no_permission_never_waits_behind_an_open_prompt():
    gate = asyncio.Event()

    async def decide() -> Any:
        await gate.wait()
        return Permitted({})

    free = echo("free")
    bench = make_bench(decide(), tools=(echo(), free), run=ASK)
    task = asyncio.create_task(bench.run([CALL, make_call("c2", "free")]))
    await wait_until(lambda: free.runs)
    assert bench.tools[0].runs == []
    gate.set()
    await task
    assert [result[0] for result in bench.recorder.results] == ["c1", "c2"]


async def test_a_stop_puts_the_open_prompt_away_and_asks_no_other():
    bench = make_bench(wait_forever(), run=ASK)
    task = asyncio.create_task(bench.run([CALL, make_call("c2", "tool")]))
    await wait_until(lambda: bench.prompter.prompts)
    bench.stop.interrupt(Stop())
    await task
    assert [prompt.tool_call_id for prompt in bench.prompter.prompts] == ["c1"]
    assert bench.prompter.prompts[0] in bench.prompter.put_aside
    assert bench.recorder.results == [
        ("c1", model_messages.STOPPED, False),
        ("c2", model_messages.STOPPED, False),
    ]
    assert not other_tasks()


async def test_a_cancellation_from_outside_leaves_the_prompt_open():
    bench = make_bench(wait_forever(), run=ASK)
    task = asyncio.create_task(bench.run([CALL, make_call("c2", "tool")]))
    await wait_until(lambda: bench.prompter.prompts)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bench.prompter.put_aside == []
    assert bench.recorder.events == []
    assert not other_tasks()


@pytest.mark.parametrize("mode", [ASK, EDIT])
@pytest.mark.parametrize("decision", [True, False, None])
@pytest.mark.parametrize(
    ("detached", "result"),
    [
        (DetachedPolicy.AUTO, ("c1", "{'path': 'a'}", False)),
        (DetachedPolicy.DENY, ("c1", model_messages.describe_not_permitted("tool"), True)),
        (DetachedPolicy.DEFAULTS, ("c1", model_messages.describe_not_permitted("tool"), True)),
    ],
)
async def test_detached_policy_decides_about_a_call_without_a_person(
    mode, decision, detached, result
):
    memory = {} if decision is None else {KEY: decision}
    bench = make_bench(
        detached=detached, run=mode, state=TurnState(remembered_permission_decisions=memory)
    )
    bench.prompter.is_reachable = False
    await bench.run([CALL])
    assert bench.recorder.results == [result]
    assert bench.prompter.prompts == []


async def test_detached_policy_wait_opens_the_approval_without_a_person():
    bench = make_bench(Permitted({}), detached=DetachedPolicy.WAIT, run=ASK)
    bench.prompter.is_reachable = False
    await bench.run([CALL])
    assert len(bench.prompter.prompts) == 1


@pytest.mark.parametrize(
    ("kind", "changes", "text"),
    [
        ("run", {"run": ASK}, model_messages.describe_not_permitted("tool")),
        ("deliver", {"result": ASK}, model_messages.describe_not_delivered("tool")),
    ],
)
async def test_a_tools_own_policy_comes_before_the_general_one(kind, changes, text):
    tool_changes = {"detached": {kind: DetachedPolicy.DENY}, **changes}
    bench = ToolBench((echo(),), changes={"tool": tool_changes}, detached=DetachedPolicy.AUTO)
    bench.prompter.is_reachable = False
    await bench.run([CALL])
    assert bench.recorder.results == [("c1", text, True)]


# arguments that are wrong

LOCAL: dict[str, Any] = {
    "source": LocalSource("tool", ToolCommand("true")),
    "parameters": {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
    },
}


async def test_invalid_call_is_refused_without_an_approval():
    bench = make_bench(run=ASK, **LOCAL)
    await bench.run([make_call("c1", "tool")])
    assert bench.prompter.prompts == []
    [(_, text, is_error)] = bench.recorder.results
    assert "“n” is missing" in text
    assert is_error


async def test_a_person_sees_the_arguments_as_the_tool_gets_them():
    bench = make_bench(Permitted({"n": 1}), run=ASK, **LOCAL)
    await bench.run([make_call("c1", "tool", n="1")])
    assert bench.prompter.prompts[0].arguments == {"n": 1}
    assert bench.recorder.results == [("c1", "{'n': 1}", False)]


async def test_arguments_that_a_person_edited_are_looked_at_again():
    bench = make_bench(Permitted({"m": 1}), run=EDIT, **LOCAL)
    await bench.run([make_call("c1", "tool", n=1)])
    [(_, text, is_error)] = bench.recorder.results
    assert "“m” is unknown" in text
    assert is_error
    assert bench.tools[0].runs == []


# results


@pytest.mark.parametrize("outcome", [Success("fine"), Failed("no disk")])
@pytest.mark.parametrize("mode", [ASK, EDIT])
async def test_a_result_is_shown_to_a_person_before_the_model_sees_it(outcome, mode):
    bench = make_bench(Delivered(), tools=(StubTool("tool", lambda *_: outcome),), result=mode)
    await bench.run([CALL])
    is_error = isinstance(outcome, Failed)
    text = outcome.message if isinstance(outcome, Failed) else outcome.content
    assert bench.prompter.prompts == [DeliverPrompt("c1", "tool", text, is_error, mode is EDIT)]
    assert bench.recorder.results == [("c1", text, is_error)]


@pytest.mark.parametrize(
    ("mode", "decisions", "text"),
    [
        (ASK, [Withheld()], "Result delivery skipped by user."),
        (SKIP, [], "Result delivery skipped by configuration."),
        (EDIT, [Delivered("Edited.")], "Edited."),
        (EDIT, [Delivered("")], ""),
    ],
)
@pytest.mark.parametrize("outcome", [Success("secret stuff"), Failed("secret stuff")])
async def test_replaced_result_is_not_an_error(mode, decisions, text, outcome):
    bench = make_bench(*decisions, tools=(StubTool("tool", lambda *_: outcome),), result=mode)
    await bench.run([CALL])
    assert bench.recorder.results == [("c1", text, False)]


@pytest.mark.parametrize("detached", [DetachedPolicy.DENY, DetachedPolicy.DEFAULTS])
async def test_result_approval_without_a_person_withholds_the_result(detached):
    bench = make_bench(detached=detached, result=ASK)
    bench.prompter.is_reachable = False
    await bench.run([CALL])
    assert bench.recorder.results == [("c1", model_messages.describe_not_delivered("tool"), True)]
    assert len(bench.tools[0].runs) == 1


async def test_result_approval_under_detached_policy_auto_delivers_the_result():
    bench = make_bench(detached=DetachedPolicy.AUTO, result=EDIT)
    bench.prompter.is_reachable = False
    await bench.run([CALL])
    assert bench.recorder.results == [("c1", "{'path': 'a'}", False)]


async def test_stop_withdraws_an_open_delivery_and_hides_the_result():
    bench = make_bench(wait_forever(), result=ASK)
    task = asyncio.create_task(bench.run([CALL]))
    await wait_until(lambda: bench.prompter.prompts)
    bench.stop.interrupt(Stop())
    await task
    assert bench.prompter.put_aside == bench.prompter.prompts
    assert bench.recorder.results == [("c1", model_messages.STOPPED, False)]
    assert not other_tasks()


async def test_a_call_that_did_not_run_has_no_result_to_be_shown():
    skipping = make_bench(run=SKIP, result=ASK)
    await skipping.run([CALL])
    assert skipping.prompter.prompts == []


@pytest.mark.parametrize(
    "reply", [Declined(CancellationReason.USER), Declined(CancellationReason.EXPIRED)]
)
async def test_model_message_in_place_of_a_result_needs_no_approval(reply):
    bench = ToolBench((make_asker(CONFIRM),), [reply], changes={"tool": {"result": ASK}})
    await bench.run([CALL])
    assert bench.prompter.prompts == []
    assert len(bench.recorder.results) == 1


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (BuiltinSource(), "fs (built-in)"),
        (LocalSource("fs", ToolCommand("fs")), "fs (local)"),
        (McpSource("disk", "fs"), "fs (MCP server disk)"),
    ],
)
def test_describe_tool_names_its_source(source, words):
    assert describe_tool(ToolConfig("fs", "", {}, source=source)) == words

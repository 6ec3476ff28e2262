"""All cases of table 10.3, times the detached policies, for calls and for results."""

from __future__ import annotations

import asyncio
from itertools import product
from typing import Any

import pytest

from jpweb.agent.config import ApprovalMode, DetachedPolicy, LocalSource, SettingPlace, ToolCommand
from jpweb.agent.ports import (
    Delivered,
    DeliverPrompt,
    PermissionSource,
    Permitted,
    Skipped,
    Withheld,
)
from jpweb.agent.tool_calls.permissions import (
    DeliveryAction,
    PermissionAction,
    decide_delivery,
    decide_permission,
)
from jpweb.agent.tool_calls.result import ResumedCalls
from jpweb.agent.tool_calls.turn_state import CallGrant, PermissionKey, TurnState
from jpweb.agent.tool_outcome import Success
from jpweb.stream.events import ToolCallResponse
from tests.agent.doubles import StubTool, ToolBench, wait_until
from tests.builders import make_call

# The first row that matches decides.
# run, remembered, reachable, detached; how many; what happens
PERMISSIONS = """
 unattended  *    *    *         24  RUN
 skip        *    *    *         24  SKIP
 *           *    no   auto       6  RUN
 *           *    no   deny       6  DENY
 *           *    no   defaults   6  DENY
 *           yes  *    *         10  RUN
 *           no   *    *         10  SKIP_REMEMBERED
 ask         -    *    *          5  ASK
 edit        -    *    *          5  EDIT
"""
# result, reachable, detached; how many; what happens
DELIVERIES = """
 unattended  *    *          8  DELIVER
 skip        *    *          8  SKIP
 *           no   auto       2  DELIVER
 *           no   deny       2  DENY
 *           no   defaults   2  DENY
 ask         *    *          5  ASK
 edit        *    *          5  EDIT
"""
MODES = [mode.value for mode in ApprovalMode]
POLICIES = [policy.value for policy in DetachedPolicy]
REMEMBERED = {"yes": True, "no": False, "-": None}
REACHABLE = {"yes": True, "no": False}
CALLS = list(product(MODES, REMEMBERED, REACHABLE, POLICIES))
RESULTS = list(product(MODES, REACHABLE, POLICIES))


def rows(table) -> list[list[str]]:
    return [line.split() for line in table.strip().splitlines()]


def first(table, case) -> Any:
    """Return the first row of the table that matches."""
    for row in rows(table):
        if all(cell in ("*", value) for cell, value in zip(row, case, strict=False)):
            return row
    raise LookupError(case)


@pytest.mark.parametrize(("table", "cases"), [(PERMISSIONS, CALLS), (DELIVERIES, RESULTS)])
def test_permission_table_rows_cover_all_cases(table, cases):
    assert len(cases) == sum(int(row[-2]) for row in rows(table))
    for row in rows(table):
        assert sum(first(table, case) == row for case in cases) == int(row[-2]), row


def test_a_call_may_run_as_the_table_says():
    actions = {
        (mode, memory, reachable, policy): decide_permission(
            ApprovalMode(mode),
            REMEMBERED[memory],
            is_person_reachable=REACHABLE[reachable],
            detached_policy=DetachedPolicy(policy),
        )
        for mode, memory, reachable, policy in CALLS
    }
    assert actions == {case: PermissionAction[first(PERMISSIONS, case)[-1]] for case in CALLS}


def test_a_result_is_delivered_as_the_table_says():
    actions = {
        (mode, reachable, policy): decide_delivery(
            ApprovalMode(mode),
            is_person_reachable=REACHABLE[reachable],
            detached_policy=DetachedPolicy(policy),
        )
        for mode, reachable, policy in RESULTS
    }
    assert actions == {case: DeliveryAction[first(DELIVERIES, case)[-1]] for case in RESULTS}


@pytest.mark.parametrize(
    "policy", [DetachedPolicy.AUTO, DetachedPolicy.DENY, DetachedPolicy.DEFAULTS]
)
def test_remembered_permission_does_not_apply_without_a_person(policy):
    actions = {
        decide_permission(
            ApprovalMode.ASK, memory, is_person_reachable=False, detached_policy=policy
        )
        for memory in (True, False, None)
    }
    assert len(actions) == 1


# notes of policies that decide in place of a person

CALL = make_call("c1", "tool", path="a")
KEY = PermissionKey("tool")
TOOL = StubTool("tool", lambda *_: Success("Done."))
ASKING = {"tool": {"run": ApprovalMode.ASK}}
DENIED = {"run": DetachedPolicy.DENY, "deliver": DetachedPolicy.DENY}


def make_note(policy, *, is_allowed) -> dict[str, Any]:
    """Return the note of a policy of the configuration."""
    by = {"kind": "configuration"}
    return {"tool": "tool", "policy": policy, "allow": is_allowed, "by": by}


@pytest.mark.parametrize("is_allowed", [True, False])
async def test_a_later_call_notes_the_permission_that_holds_for_the_turn(is_allowed):
    source = PermissionSource(7, "Ada", 3)
    decision = (
        Permitted(CALL.arguments, remember=True, source=source)
        if is_allowed
        else Skipped(remember=True, source=source)
    )
    bench = ToolBench((TOOL,), changes=ASKING)
    bench.prompter.decisions = [decision]
    await bench.run([CALL, make_call("c2", "tool")])
    by = {"kind": "memory", "name": "Ada", "id": 3}
    note = make_note("remembered", is_allowed=is_allowed) | {"by": by, "approval": 7}
    assert bench.recorder.notes(ToolCallResponse) == [None, {"permission": note}]


async def test_a_rebuilt_turn_notes_the_permission_of_the_process_before():
    sources = {("tool", ""): PermissionSource(7, "Ada", 3)}
    state = TurnState(remembered_permission_decisions={KEY: True})
    bench = ToolBench((TOOL,), changes=ASKING, state=state, permission_sources=sources)
    await bench.run([CALL])
    [note] = bench.recorder.notes(ToolCallResponse)
    assert (note["permission"]["approval"], note["permission"]["by"]["name"]) == (7, "Ada")


@pytest.mark.parametrize(
    ("changes", "name", "policy", "is_allowed"),
    [
        ({"run": ApprovalMode.SKIP}, "permission", "skip", False),
        ({"run": ApprovalMode.ASK}, "permission", "detached", True),
        ({"run": ApprovalMode.ASK, "detached": DENIED}, "permission", "detached", False),
        ({"result": ApprovalMode.SKIP}, "delivery", "skip", False),
        ({"result": ApprovalMode.ASK}, "delivery", "detached", True),
        ({"result": ApprovalMode.ASK, "detached": DENIED}, "delivery", "detached", False),
    ],
)
async def test_a_policy_that_decides_in_place_of_a_person_is_noted(
    changes, name, policy, is_allowed
):
    bench = ToolBench((TOOL,), changes={"tool": changes}, detached=DetachedPolicy.AUTO)
    bench.prompter.is_reachable = False
    await bench.run([CALL])
    assert bench.recorder.notes(ToolCallResponse) == [
        {name: make_note(policy, is_allowed=is_allowed)}
    ]


async def test_the_noted_policy_outlives_a_saved_result_and_a_grant():
    changes = {"tool": {"run": ApprovalMode.ASK, "result": ApprovalMode.EDIT}}
    bench = ToolBench((TOOL,), changes=changes, detached=DetachedPolicy.WAIT)
    bench.prompter.decisions = [Withheld()]
    bench.state.remembered_permission_decisions[KEY] = True
    await bench.run([CALL])
    note = {"permission": make_note("remembered", is_allowed=True) | {"by": {"kind": "memory"}}}
    [(_, progress)] = bench.recorder.saved_progress
    assert (progress.policies, bench.recorder.notes(ToolCallResponse)) == (note, [note])
    assert CallGrant.from_note(CallGrant(policies=note).to_note()).policies == note


# calls that run without asking

UNATTENDED = {"source": LocalSource("tool", ToolCommand("true")), "run": ApprovalMode.UNATTENDED}
SETTING = SettingPlace("conversation.tools.tool.run", ".jp/config.toml")


async def test_unattended_call_notes_the_setting_that_permitted_it():
    bench = ToolBench((TOOL,), changes={"tool": UNATTENDED | {"run_setting": SETTING}})
    await bench.run([CALL])
    note = make_note("unattended", is_allowed=True) | SETTING._asdict()
    assert bench.recorder.notes(ToolCallResponse) == [{"permission": note}]


async def test_call_of_a_tool_built_in_is_not_noted():
    bench = ToolBench(
        (TOOL,), changes={"tool": {"run": ApprovalMode.UNATTENDED, "run_setting": SETTING}}
    )
    await bench.run([CALL])
    assert bench.recorder.notes(ToolCallResponse) == [None]


async def test_unattended_call_that_did_not_run_is_not_noted():
    changes = {"tool": UNATTENDED | {"parameters": {"type": "object", "required": ["file"]}}}
    bench = ToolBench((TOOL,), changes=changes)
    await bench.run([CALL])
    assert bench.recorder.notes(ToolCallResponse) == [None]
    assert bench.recorder.of(ToolCallResponse)[0].is_error


async def test_unattended_call_approved_by_a_person_notes_no_setting():
    bench = ToolBench((TOOL,), changes={"tool": UNATTENDED})
    bench.prompter.decisions = [Permitted(CALL.arguments)]
    await bench.run([CALL], ResumedCalls(waiting_ids=frozenset({CALL.id})))
    assert bench.recorder.notes(ToolCallResponse) == [None]


def make_echo(name: str) -> StubTool:
    return StubTool(name, lambda arguments, _: Success(f"{dict(arguments)}"))


async def test_results_of_calls_with_one_id_are_shown_one_at_a_time():
    gates = [asyncio.Event() for _ in range(2)]

    async def decide(gate: asyncio.Event) -> Delivered:
        await gate.wait()
        return Delivered()

    changes = {name: {"result": ApprovalMode.ASK} for name in ("tool", "free")}
    bench = ToolBench((make_echo("tool"), make_echo("free")), changes=changes)
    prompts = bench.prompter.prompts
    bench.prompter.decisions = [decide(gates[0]), Delivered(), decide(gates[1])]
    calls = [
        make_call("c1", "tool", path="a"),
        make_call("c1", "tool", path="b"),
        make_call("c2", "free"),
    ]
    task = asyncio.create_task(bench.run(calls))
    await wait_until(lambda: len(prompts) == 2)
    assert [prompt.tool_call_id for prompt in prompts] == ["c1", "c2"]
    gates[0].set()
    await wait_until(lambda: len(prompts) == 3)
    assert prompts[2] == DeliverPrompt("c1", "tool", "{'path': 'b'}", is_error=False)
    gates[1].set()
    await task
    assert [content for _, content, _ in bench.recorder.results] == [
        "{'path': 'a'}",
        "{'path': 'b'}",
        "{}",
    ]

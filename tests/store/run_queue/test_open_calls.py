"""Calls of runs that end before their turn: results and policies of them stay on record."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from jpweb.agent.tool_calls.result import CallResult
from jpweb.agent.tool_calls.turn_state import CallGrant
from jpweb.store import approvals, journal, runs
from jpweb.store.choices import Act, ApprovalKind, InterruptKind, RunState
from jpweb.store.inquiries import Decider
from jpweb.store.models import LedgerEntry, Run
from jpweb.store.run_queue import call_checkpoints
from jpweb.stream.events import ConversationEvent, ToolCallRequest, ToolCallResponse
from jpweb.stream.inquiry import CancellationReason
from jpweb.stream.sanitize import INTERRUPTED
from tests.builders import AT, make_inquiry
from tests.store import making

pytestmark = pytest.mark.django_db
ALLOWED = {"tool": "vault", "policy": "detached", "allow": True, "by": {"kind": "configuration"}}
WITHHELD = ALLOWED | {"policy": "skip", "allow": False}
RESULT = {"content": "Done.", "is_error": False, "edited": None}
RESULT |= {"delivered": True, "was_cut_off": False, "policies": {"permission": ALLOWED}}
GRANT = CallGrant(policies={"permission": ALLOWED}).to_note()
INTERRUPTED_RESPONSE = ToolCallResponse("call_1", INTERRUPTED, is_error=True)


@pytest.fixture
def run() -> Run:
    return making.start_run(making.conversation(making.workspace()))


def ask(run: Run, tool_call_id: str = "call_1", **note: Any) -> None:
    """Record a question of a call, with the note of its grant, and park the run."""
    request = make_inquiry(f"{tool_call_id}.q.{making.count_entries(run.conversation_id)}")
    note = {"tool_call_id": tool_call_id, "question_id": "q", **note}
    event = ConversationEvent(AT, request, {"jpweb": note})
    journal.append_events(run.conversation_id, [event], run)
    runs.park_run(run, run.inquiries.filter(state="open").values_list("pk", flat=True), [])
    run.refresh_from_db()


def append(run: Run, *kinds: Any) -> None:
    journal.append_events(run.conversation_id, [making.event(kind) for kind in kinds], run)


def stop(run: Run) -> None:
    runs.interrupt_run(run.conversation_id, InterruptKind.STOP, Decider("person", "Ada"))


def lose(run: Run) -> None:
    runs.lose_run(run, "It could not go on.")


def fail(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(state=RunState.QUEUED)
    runs.fail_run(making.acquire_run(run), CancellationReason.USER, RunState.STOPPED)


def list_responses(run: Run) -> list[tuple[ToolCallResponse, dict[str, Any]]]:
    bodies = [element.body for element in journal.read_elements(run.conversation_id)]
    return [
        (body.kind, body.note)
        for body in bodies
        if isinstance(body, ConversationEvent) and isinstance(body.kind, ToolCallResponse)
    ]


def list_policies(run: Run) -> list[tuple[str, str]]:
    acts = (Act.CALL_DECIDED_BY_POLICY, Act.RESULT_DECIDED_BY_POLICY)
    entries = LedgerEntry.objects.filter(conversation_id=run.conversation_id, act__in=acts)
    return [
        (entry.act, json.loads(entry.text)["details"]["policy"]) for entry in entries.order_by("id")
    ]


@pytest.mark.parametrize("end", [stop, lose, fail])
def test_policy_that_permitted_a_call_at_a_question_is_recorded_once(
    run: Run, end: Callable[[Run], None]
):
    ask(run, **GRANT)
    end(run)
    assert list_responses(run) == [(INTERRUPTED_RESPONSE, {"permission": ALLOWED})]
    assert list_policies(run) == [(Act.CALL_DECIDED_BY_POLICY, "detached")]


@pytest.mark.parametrize("end", [stop, lose, fail])
def test_call_with_a_final_result_keeps_it_beside_an_open_question(
    run: Run, end: Callable[[Run], None]
):
    append(run, ToolCallRequest("call_2", "vault"))
    policies = {"permission": ALLOWED, "delivery": WITHHELD}
    values = RESULT | {"edited": {"path": "b"}, "was_cut_off": True, "policies": policies}
    call_checkpoints.save_checkpoint(run, "call_2", values)
    ask(run, permitted=True)
    end(run)
    result = CallResult("Done.", edited={"path": "b"}, policies=policies)
    note = result.to_metadata(is_rerun=True)["jpweb"]
    kept_response = ToolCallResponse("call_2", "Done.", is_error=False)
    assert list_responses(run) == [(INTERRUPTED_RESPONSE, {}), (kept_response, note)]
    assert list_policies(run) == [
        (Act.CALL_DECIDED_BY_POLICY, "detached"),
        (Act.RESULT_DECIDED_BY_POLICY, "skip"),
    ]
    assert call_checkpoints.get_checkpoints(run) == {}


def test_result_that_waits_for_a_person_is_kept_from_the_model(run: Run):
    call_checkpoints.save_checkpoint(run, "call_1", RESULT | {"delivered": False})
    content = {"content": "Done.", "is_error": False, "edit": False}
    approval = approvals.request_approval(
        run.conversation_id, ApprovalKind.DELIVER, "call_1", "vault", content
    )
    assert runs.park_run(run, [], [approval.pk])
    stop(run)
    assert list_responses(run) == [(INTERRUPTED_RESPONSE, {"permission": ALLOWED})]
    assert list_policies(run) == [(Act.CALL_DECIDED_BY_POLICY, "detached")]


def test_call_that_was_cut_off_has_the_policy_of_its_question(run: Run):
    cut_off = RESULT | {"content": None, "was_cut_off": True, "policies": None}
    call_checkpoints.save_checkpoint(run, "call_1", cut_off)
    ask(run, **GRANT)
    stop(run)
    assert list_responses(run) == [(INTERRUPTED_RESPONSE, {"permission": ALLOWED})]


def test_policy_of_a_result_replaces_that_of_an_earlier_question(run: Run):
    ask(run, permitted=True, permission=WITHHELD)
    values = RESULT | {"policies": None}
    Run.objects.filter(pk=run.pk).update(state=RunState.QUEUED)
    call_checkpoints.save_checkpoint(making.acquire_run(run), "call_1", values)
    lose(Run.objects.get(pk=run.pk))
    assert list_responses(run) == [(ToolCallResponse("call_1", "Done.", is_error=False), {})]


def test_call_of_a_lost_run_has_the_policy_of_its_last_question(run: Run):
    append(run, ToolCallRequest("call_2", "vault"))
    for tool_call_id, note in (("call_1", {"permission": ALLOWED}), ("call_1", {}), ("call_2", {})):
        ask(run, tool_call_id, **note)
        Run.objects.filter(pk=run.pk).update(state=RunState.QUEUED)
        run = making.acquire_run(run)
    lose(run)
    assert [note for _, note in list_responses(run)] == [{}, {}]
    assert list_policies(run) == []


def test_call_has_no_policy_of_an_ended_call_with_its_id(run: Run):
    ask(run, **GRANT)
    Run.objects.filter(pk=run.pk).update(state=RunState.QUEUED)
    run = making.acquire_run(run)
    append(run, ToolCallResponse("call_1", "Done.", is_error=False))
    append(run, ToolCallRequest("call_1", "vault"))
    lose(run)
    assert list_responses(run)[1:] == [(INTERRUPTED_RESPONSE, {})]
    assert list_policies(run) == []


@pytest.mark.parametrize("permission", ["skip", {}, {"by": 7}, {"by": {}}, {"by": {"kind": 7}}])
def test_foreign_note_of_a_question_keeps_no_run_from_ending(run: Run, permission: Any):
    ask(run, permitted=True, permission=permission)
    stop(run)
    assert list_responses(run) == [(INTERRUPTED_RESPONSE, {})]
    assert Run.objects.get(pk=run.pk).state == RunState.STOPPED

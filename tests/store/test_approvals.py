from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store import approvals, run_events, runs
from jpweb.store.choices import ApprovalKind, Role, RunState
from jpweb.store.errors import AlreadyDecided, UnknownApproval
from jpweb.store.inquiries import Decider
from jpweb.store.models import Approval, LedgerEntry, Run
from jpweb.stream.events import ToolCallResponse
from jpweb.stream.inquiry import CancellationReason
from tests.store import making

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return making.start_run(making.conversation(making.workspace()))


def responder(run: Run, role: Role = Role.RESPONDER) -> int:
    return making.person(role=role, workspace=run.conversation.workspace).pk


def test_a_prompt_belongs_to_the_run_that_is_under_way(run: Run):
    row = making.prompt(run)
    assert (row.run_id, row.state, row.settled_at) == (run.pk, "open", None)
    assert row.subject["arguments"] == {"path": "a.md"}


def test_entries_of_an_approval_say_when_it_was_asked(run: Run):
    decided, withdrawn = making.prompt(run), making.prompt(run)
    approvals.decide_approval(decided.pk, {"allow": True}, Decider("person", "Ada"))
    approvals.withdraw_approval(withdrawn.pk)
    entries = LedgerEntry.objects.filter(subject__startswith="approval:").order_by("pk")
    asked_times = [json.loads(entry.text)["details"]["asked_at"] for entry in entries]
    assert asked_times == [row.asked_at.isoformat() for row in (decided, withdrawn)]


def test_request_approval_without_a_running_run_is_refused(run: Run):
    runs.end_run(run, RunState.DONE)
    with pytest.raises(UnknownApproval):
        making.prompt(run)
    assert Approval.objects.count() == 0


def test_approval_shows_characters_that_databases_refuse_by_others(run: Run):
    arguments = {"a\0": "\ud800", "a␀": ["0\0", 1]}
    row = making.prompt(run, arguments=arguments)
    assert row.subject["arguments"] == {"a␀": "\ufffd", "a␀␀": ["0␀", 1]}
    assert request_again(row, arguments=arguments).pk == row.pk


def test_decision_about_an_argument_with_nul_holds_for_no_other(run: Run):
    row = making.prompt(run, arguments={"text": "0\0"})
    approvals.decide_approval(row.pk, {"allow": True}, Decider("person", "Ada"))
    again = request_again(row, arguments={"text": "0␀"})
    assert (again.pk != row.pk, again.state) == (True, "open")


@pytest.mark.parametrize(
    ("role", "expected_count"), [(Role.READER, 0), (Role.RESPONDER, 1), (Role.OWNER, 1)]
)
def test_open_approval_is_listed_for_people_who_may_answer(
    run: Run, role: Role, expected_count: int
):
    making.prompt(run)
    outsider = making.person(role=Role.OWNER, workspace=making.workspace())
    assert len(approvals.list_open_for(responder(run, role))) == expected_count
    assert approvals.count_waiting(responder(run, role)) == expected_count
    assert approvals.count_waiting(outsider.pk) == 0


def test_approval_of_an_ended_run_is_listed_for_nobody(run: Run):
    making.prompt(run)
    Run.objects.update(state=RunState.DONE)
    assert approvals.count_waiting(responder(run)) == 0


def test_questions_and_prompts_are_one_queue_in_the_order_of_asking(run: Run):
    other_run = making.start_run(making.conversation(run.conversation.workspace))
    rows: list[Any] = [
        making.question(run),
        making.prompt(run),
        making.prompt(other_run, ApprovalKind.DELIVER),
        making.prompt(run),
    ]
    responder_id = responder(run)
    assert approvals.list_waiting(responder_id) == rows
    assert approvals.list_waiting(responder_id, conversation_id=run.conversation_id) == [
        rows[0],
        rows[1],
        rows[3],
    ]
    with CaptureQueriesContext(connection) as captured:
        assert approvals.count_waiting(responder_id) == 4
    assert len(captured) == 1


def test_second_decision_of_an_approval_is_refused_with_the_first(run: Run):
    row, person = making.prompt(run), making.person("ada")
    settled_approval = approvals.decide_approval(row.pk, {"allow": True}, making.decider(person))
    assert (settled_approval.state, settled_approval.decision) == ("decided", {"allow": True})
    assert (settled_approval.decider_id, settled_approval.decider_name) == (person.pk, "Ada")
    with pytest.raises(AlreadyDecided) as error:
        approvals.decide_approval(row.pk, {"allow": False}, making.decider(making.person()))
    assert error.value.approval.decider_name == "Ada"
    with pytest.raises(AlreadyDecided):
        approvals.withdraw_approval(row.pk)
    assert approvals.get_approval(row.pk).decision == {"allow": True}


def test_decide_approval_of_an_unknown_approval_is_refused():
    with pytest.raises(UnknownApproval):
        approvals.decide_approval(10**9, {"allow": True}, making.decider(making.person()))


@pytest.mark.parametrize("allow", [True, False])
def test_approval_result_is_deleted_once_decided(run: Run, allow: bool):
    row = making.prompt(run, ApprovalKind.DELIVER, content="canary-11")
    approvals.decide_approval(row.pk, {"allow": allow}, making.decider(making.person()))
    assert "canary" not in repr(list(Approval.objects.values()))


def test_end_of_a_run_withdraws_its_open_approvals(run: Run):
    decided_row, open_row = making.prompt(run), making.prompt(run, ApprovalKind.DELIVER)
    approvals.decide_approval(decided_row.pk, {"allow": True}, making.decider(making.person()))
    runs.close_open(run, CancellationReason.LOST)
    states = [approvals.get_approval(row.pk).state for row in (decided_row, open_row)]
    assert states == ["decided", "withdrawn"]
    assert approvals.get_approval(open_row.pk).settled_at is not None


def test_a_prompt_that_waits_already_is_not_put_twice(run: Run):
    row = making.prompt(run, path="a.md")
    fields = dict(row.subject)
    second_approval = approvals.request_approval(
        run.conversation_id, ApprovalKind.RUN, row.tool_call_id, row.tool_name, fields
    )
    assert second_approval == row
    other_approval = approvals.request_approval(
        *(run.conversation_id, ApprovalKind.RUN, row.tool_call_id, row.tool_name),
        fields | {"arguments": {"path": "b.md"}},
    )
    assert other_approval != row
    assert [approvals.get_approval(approval.pk).state for approval in (row, other_approval)] == [
        "withdrawn",
        "open",
    ]


def request_again(row: Approval, **changes: Any) -> Approval:
    """Ask once more about the same call, with these changes to its content."""
    content = {"described": "vault (local)", "arguments": {"path": "a.md"}, "edit": False}
    call = (row.conversation_id, ApprovalKind(row.kind), row.tool_call_id, row.tool_name)
    return approvals.request_approval(*call, content | changes)


def test_unused_decision_does_not_hold_for_a_later_call_of_its_id(run: Run):
    row, other_row = making.prompt(run), making.prompt(run)
    for approval in (row, other_row):
        approvals.decide_approval(approval.pk, {"allow": True}, making.decider(making.person()))
    response = ToolCallResponse(row.tool_call_id, "Instead: wait.", is_error=False)
    run_events.record_events(run, [making.event(response)])
    assert approvals.list_pending_calls(run) == {other_row.tool_call_id}
    later_approval = request_again(row)
    assert (later_approval.state, later_approval.pk == row.pk) == ("open", False)
    assert request_again(other_row) == other_row
    assert approvals.get_approval(row.pk).decision == {"allow": True}, "it stays on record"


@pytest.mark.parametrize("first_text", ["+++ 12:00", None])
def test_formatted_text_of_an_open_prompt_is_the_newest(run: Run, first_text: str | None):
    row = making.prompt(run, text=first_text)
    for text, shown_text in ((None, first_text), ("+++ 12:01", "+++ 12:01"), (None, "+++ 12:01")):
        again = request_again(row, text=text)
        assert (again.pk, again.subject["text"]) == (row.pk, shown_text)
        assert approvals.get_approval(row.pk).subject == again.subject
    assert Approval.objects.count() == 1


def test_approval_decision_applies_to_any_formatter_text_of_the_call(run: Run):
    row = making.prompt(run, text="+++ 12:00")
    approvals.decide_approval(row.pk, {"allow": True}, making.decider(making.person()))
    for text in ("+++ 12:01", None):
        again = request_again(row, text=text)
        assert (again.pk, again.state) == (row.pk, "decided")
        assert "text" not in approvals.get_approval(row.pk).subject
    other_approval = request_again(row, text="+++ 12:00", arguments={"path": "b.md"})
    assert (other_approval.state, other_approval.pk == row.pk) == ("open", False)


def hash_with_text(row: Approval) -> str:
    """Return the digest that an earlier jpweb gave an approval; it hashed the formatted text."""
    return hashlib.sha256(json.dumps(row.subject, sort_keys=True).encode()).hexdigest()


@pytest.mark.parametrize("is_shown_again", [False, True])
def test_decision_after_an_upgrade_holds_for_the_formatted_call(run: Run, is_shown_again: bool):
    row = making.prompt(run, text="+++ 12:00")
    new_digest = row.digest
    Approval.objects.update(digest=hash_with_text(row))
    if is_shown_again:
        assert request_again(row, text="+++ 12:01").pk == row.pk
    decision = {"allow": True, "arguments": {"path": "b.md"}}
    approvals.decide_approval(row.pk, decision, making.decider(making.person()))
    again = request_again(row, text="+++ 12:02")
    assert (again.pk, again.decision, again.digest) == (row.pk, decision, new_digest)


def test_decision_of_an_earlier_jpweb_holds_for_the_same_text_alone(run: Run):
    row = making.prompt(run, text="+++ 12:00")
    old_digest = hash_with_text(row)
    approvals.decide_approval(row.pk, {"allow": True}, making.decider(making.person()))
    Approval.objects.update(digest=old_digest)
    assert request_again(row, text="+++ 12:00").pk == row.pk
    assert request_again(row, text="+++ 12:01").pk != row.pk


def test_prompt_without_formatted_text_keeps_its_digest(run: Run):
    row, other_row = making.prompt(run, text=None), making.prompt(run, text="+++ 12:00")
    content = json.dumps(row.subject, sort_keys=True).encode()
    assert row.digest == other_row.digest == hashlib.sha256(content).hexdigest()


def test_find_open_for_call_returns_the_open_approval_of_its_kind(run: Run):
    row = making.prompt(run)
    approval = approvals.find_open_for_call(run.conversation_id, ApprovalKind.RUN, row.tool_call_id)
    assert approval == row
    assert (
        approvals.find_open_for_call(run.conversation_id, ApprovalKind.DELIVER, row.tool_call_id)
        is None
    )
    approvals.withdraw_approval(row.pk)
    assert (
        approvals.find_open_for_call(run.conversation_id, ApprovalKind.RUN, row.tool_call_id)
        is None
    )

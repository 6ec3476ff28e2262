from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jpweb.store import approvals, journal, run_events, runs
from jpweb.store.choices import ApprovalKind, InterruptKind, Role, RunPhase, RunState
from jpweb.store.errors import LeaseLost
from jpweb.store.inquiries import Decider
from jpweb.store.models import (
    Approval,
    Conversation,
    Inquiry,
    Person,
    Run,
    RunInterrupt,
    Workspace,
)
from jpweb.store.run_queue import call_checkpoints, interrupts, leases
from jpweb.stream.events import ChatRequest, ChatResponse, ToolCallResponse
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled
from jpweb.stream.sanitize import INTERRUPTED
from tests.store import making

pytestmark = pytest.mark.django_db
OVER, LEASE_SECONDS = -1, 15
ANSWER = {"content": "Done.", "is_error": False, "edited": None}
ANSWER |= {"delivered": True, "was_cut_off": False}


@pytest.fixture
def ada(workspace: Workspace) -> Person:
    return making.person("ada", Role.RESPONDER, workspace)


@pytest.fixture
def conversation(workspace: Workspace, ada: Person) -> Conversation:
    conversation: Conversation = making.conversation(workspace, "A talk", ada)
    return conversation


@pytest.fixture
def run(conversation: Conversation, ada: Person) -> Run:
    return making.start_run(conversation, ada)


def fresh(run: Run) -> Run:
    return Run.objects.get(pk=run.pk)


def expire_lease(run: Run) -> None:
    """Let the lease of a run be over."""
    leases.renew_leases([run.pk], fresh(run).holder, OVER)


def write_message(run: Run) -> None:
    word = making.event(ChatResponse("message", "A word"))
    journal.append_events(run.conversation_id, [word], run)


def test_a_queued_run_is_taken_once(conversation: Conversation, ada: Person):
    queued = runs.start_run(conversation.pk, ada.pk, "scripted")
    assert (queued.state, queued.holder) == ("queued", "")
    leased_run = leases.acquire_lease(queued.pk, "one", 60)
    assert leased_run is not None
    assert (leased_run.state, leased_run.holder, leased_run.fence) == ("running", "one", 1)
    assert leases.acquire_lease(queued.pk, "two", 60) is None
    assert fresh(queued).holder == "one"


def test_recover_expired_leaves_runs_with_a_valid_lease(run: Run):
    assert runs.recover_expired(LEASE_SECONDS) == []
    assert leases.renew_leases([run.pk], making.HOLDER, 60) == {run.pk}
    assert leases.renew_leases([run.pk], "another", OVER) == set()
    assert fresh(run).state == "running"


def test_run_of_a_dead_process_is_queued_and_fenced(conversation: Conversation, run: Run):
    row, length = making.question(run), making.count_entries(conversation.pk)
    expire_lease(run)
    assert runs.recover_expired(LEASE_SECONDS) == [run]
    queued = fresh(run)
    assert (queued.state, queued.holder) == ("queued", "")
    assert (queued.resume_count, queued.death_count) == (1, 1)
    with pytest.raises(LeaseLost):
        write_message(run)
    other_run = making.acquire_run(run, "other")
    for operation in (
        lambda: write_message(run),
        lambda: call_checkpoints.save_checkpoint(run, "call_1", ANSWER),
        lambda: runs.end_run(run, RunState.DONE),
        lambda: runs.fail_run(run, CancellationReason.LOST, RunState.FAILED),
    ):
        with pytest.raises(LeaseLost):
            operation()
    assert leases.release_lease(run) is False
    assert runs.park_run(run, [row.pk], []) is False
    assert making.count_entries(conversation.pk) == length
    write_message(other_run)
    assert fresh(run).death_count == 0, "it has got somewhere"


def test_requeue_expired_requeues_a_run_once_for_two_processes(run: Run):
    expire_lease(run)
    (expired_run,), (same_run,) = leases.list_expired(), leases.list_expired()
    assert [
        leases.requeue_expired(expired_run, has_died=True),
        leases.requeue_expired(same_run, has_died=True),
    ] == [
        True,
        False,
    ]
    assert fresh(run).resume_count == 1


def test_run_that_keeps_ending_processes_is_lost(conversation: Conversation, run: Run):
    settled_row = making.settle(making.question(run), Answered(True))
    Run.objects.update(death_count=runs.MAX_DEATHS)
    expire_lease(run)
    assert runs.recover_expired(LEASE_SECONDS) == [run]
    lost_run = fresh(run)
    assert (lost_run.state, lost_run.problem) == (
        "lost",
        "The server stopped 6 times while this turn was running.",
    )
    assert lost_run.ended_at is not None
    settled_row.refresh_from_db()
    assert settled_row.state == "answered"
    kind = journal.read_elements(conversation.pk)[-1].kind
    assert kind == ToolCallResponse("call_1", INTERRUPTED, is_error=True)
    length = making.count_entries(conversation.pk)
    assert runs.recover_expired(LEASE_SECONDS) == []
    assert making.count_entries(conversation.pk) == length


@pytest.mark.parametrize("ask", [making.question, making.prompt])
def test_recover_expired_requeues_a_waiting_run_after_many_deaths(
    run: Run, ask: Callable[..., Any]
):
    row = ask(run)
    Run.objects.update(death_count=1000)
    expire_lease(run)
    assert runs.recover_expired(LEASE_SECONDS) == [run]
    row.refresh_from_db()
    assert (row.state, fresh(run).state) == ("open", "queued")


def test_expire_installation_expires_leases_of_its_holders_only(run: Run):
    Run.objects.update(holder="here#1")
    leases.expire_installation("he")
    assert runs.recover_expired(LEASE_SECONDS) == []
    leases.expire_installation("here")
    assert runs.recover_expired(LEASE_SECONDS) == [run]


def test_release_lease_requeues_the_run_without_counting_a_death(run: Run):
    assert leases.release_lease(run) is True
    assert leases.list_queued() == [run.pk]
    assert leases.list_queued(3600) == []
    assert (fresh(run).death_count, fresh(run).resume_count) == (0, 1)


def test_waiting_run_is_parked_and_requeued_by_the_answer(run: Run):
    row = making.question(run)
    assert runs.park_run(run, [row.pk], []) is True
    parked = fresh(run)
    assert (parked.state, parked.phase, parked.holder) == ("parked", "waiting", "")
    assert leases.list_queued() == []
    assert runs.recover_expired(LEASE_SECONDS) == []
    making.settle(row, Answered(True))
    assert fresh(run).state == "queued"
    leased_run = making.acquire_run(run)
    assert leased_run.phase == RunPhase.WAITING, "nothing of it was in flight"
    assert fresh(run).phase == RunPhase.WAITING, "nor is until its calls begin"
    leases.begin_calls(leased_run)
    assert fresh(run).phase == RunPhase.CALLING, "what is in flight from now on may be cut off"


@pytest.mark.parametrize("outcome", [Answered(False), Cancelled(CancellationReason.EXPIRED)])
def test_settled_question_requeues_its_parked_run(run: Run, outcome: Any):
    row = making.question(run)
    assert runs.park_run(run, [row.pk], [])
    making.settle(row, outcome)
    assert fresh(run).state == "queued"


def test_a_decision_wakes_the_run_as_an_answer_does(run: Run):
    row = making.prompt(run)
    assert runs.park_run(run, [], [row.pk])
    decided_approval = approvals.decide_approval(row.pk, {"allow": True}, Decider("person", "Ada"))
    assert (decided_approval.state, fresh(run).state) == ("decided", "queued")


def test_approval_decided_while_parked_applies_when_the_run_resumes(run: Run):
    row = making.prompt(run)
    fields = dict(row.subject)
    runs.park_run(run, [], [row.pk])
    approvals.decide_approval(row.pk, {"allow": True}, Decider("person", "Ada"))
    leased_run = making.acquire_run(run)
    assert approvals.list_pending_calls(leased_run) == {row.tool_call_id}
    ask = (run.conversation_id, ApprovalKind.RUN, row.tool_call_id, row.tool_name, fields)
    second_approval = approvals.request_approval(*ask)
    assert (second_approval.pk, second_approval.state) == (row.pk, "decided")
    approvals.mark_spent(row.pk)
    assert approvals.list_pending_calls(leased_run) == frozenset()
    assert approvals.request_approval(*ask).pk != row.pk, (
        "a call that runs again is asked about anew"
    )


def test_approval_of_other_arguments_does_not_apply(run: Run):
    row = making.prompt(run, arguments={"path": "a.md"})
    approvals.decide_approval(row.pk, {"allow": True}, Decider("person", "Ada"))
    fields = dict(row.subject) | {"arguments": {"path": "b.md"}}
    other_approval = approvals.request_approval(
        run.conversation_id, ApprovalKind.RUN, row.tool_call_id, row.tool_name, fields
    )
    assert (other_approval.state, other_approval.pk == row.pk) == ("open", False)


def test_park_run_is_refused_when_its_question_is_settled(run: Run):
    row, waiting_prompt = making.question(run), making.prompt(run)
    making.settle(row, Answered(True))
    assert runs.park_run(run, [row.pk], [waiting_prompt.pk]) is False
    assert fresh(run).state == "running"


def test_run_with_a_decision_to_continue_with_is_not_parked(run: Run):
    row, waiting_question = making.prompt(run), making.question(run)
    approvals.decide_approval(row.pk, {"allow": True}, Decider("person", "Ada"))
    assert runs.park_run(run, [waiting_question.pk], []) is False
    approvals.mark_spent(row.pk)
    assert runs.park_run(run, [waiting_question.pk], []) is True


def test_park_run_is_refused_without_an_open_question(run: Run):
    assert runs.park_run(run, [], []) is False


def test_turn_permissions_outlive_the_process(run: Run):
    for allow, remember in ((True, True), (False, True), (True, False)):
        row = making.prompt(run)
        approvals.decide_approval(
            row.pk, {"allow": allow, "remember": remember}, Decider("person", "Ada")
        )
        approvals.mark_spent(row.pk)
    assert approvals.get_turn_permissions(run) == {("vault", ""): False}, "the last word"


def test_run_with_an_unhandled_reply_is_not_parked(conversation: Conversation, run: Run):
    row = making.question(run)
    runs.interrupt_run(conversation.pk, InterruptKind.RESPOND, Decider("person", "Ada"), "Wait")
    assert runs.park_run(run, [row.pk], []) is False


def test_stop_ends_a_run_without_a_holder(conversation: Conversation, run: Run, ada: Person):
    row, waiting_prompt = making.question(run), making.prompt(run)
    runs.park_run(run, [row.pk], [waiting_prompt.pk])
    stopped_run = runs.interrupt_run(conversation.pk, InterruptKind.STOP, making.decider(ada))
    assert stopped_run == run
    assert fresh(run).state == "stopped"
    row.refresh_from_db()
    assert (row.state, row.reason, row.decider) == ("cancelled", "user", ada)
    assert approvals.get_approval(waiting_prompt.pk).state == "withdrawn"
    assert leases.list_queued() == []
    assert runs.interrupt_run(conversation.pk, InterruptKind.STOP, making.decider(ada)) is None


def test_reply_to_a_parked_run_queues_it(conversation: Conversation, run: Run):
    row = making.question(run)
    runs.park_run(run, [row.pk], [])
    runs.interrupt_run(conversation.pk, InterruptKind.RESPOND, Decider("person", "Ada"), "Skip it")
    assert fresh(run).state == "queued"
    leased_run = making.acquire_run(run)
    assert interrupts.list_pending([run]) == [], "who held it before hears nothing any more"
    (interrupt,) = interrupts.list_pending([leased_run])
    assert (interrupt.text, interrupt.person_name) == ("Skip it", "Ada")


def test_reply_is_kept_until_the_turn_handles_it(conversation: Conversation, run: Run):
    runs.interrupt_run(conversation.pk, InterruptKind.RESPOND, Decider("person", "Ada"), "Skip it")
    (interrupt,) = interrupts.list_pending([run])
    result = ToolCallResponse("call_1", "Done.", is_error=False)
    for kind in (ChatResponse("message", "Half"), result):
        run_events.record_events(run, [making.event(kind)])
    assert interrupts.list_pending([run]) == [interrupt], "a process that ends now has told nobody"
    assert runs.end_run(run, RunState.DONE) is False, (
        "the turn is not done before it has acted on them"
    )
    run_events.record_events(
        run, [making.event(ChatRequest("Skip it", author="Ada"))], [interrupt.pk]
    )
    assert interrupts.list_pending([run]) == []
    assert runs.end_run(run, RunState.DONE) is True


def test_checkpoint_is_kept_until_its_response_is_recorded(run: Run):
    call_checkpoints.save_checkpoint(run, "call_1", ANSWER | {"delivered": False})
    call_checkpoints.save_checkpoint(run, "call_1", ANSWER)
    call_checkpoints.save_checkpoint(run, "call_2", ANSWER)
    assert {call: row.delivered for call, row in call_checkpoints.get_checkpoints(run).items()} == {
        "call_1": True,
        "call_2": True,
    }
    run_events.record_events(
        run, [making.event(ToolCallResponse("call_1", "Done.", is_error=False))]
    )
    assert set(call_checkpoints.get_checkpoints(run)) == {"call_2"}
    call_checkpoints.clear_checkpoints(run)
    assert call_checkpoints.get_checkpoints(run) == {}


def test_checkpoint_is_kept_when_the_response_is_not_recorded(run: Run):
    call_checkpoints.save_checkpoint(run, "call_1", ANSWER)
    expire_lease(run)
    runs.recover_expired(LEASE_SECONDS)
    with pytest.raises(LeaseLost):
        run_events.record_events(
            run, [making.event(ToolCallResponse("call_1", "Done.", is_error=False))]
        )
    assert set(call_checkpoints.get_checkpoints(run)) == {"call_1"}


def test_lost_run_closes_its_questions_and_is_not_requeued(run: Run):
    row = making.question(run)
    runs.park_run(run, [row.pk], [])
    runs.lose_run(fresh(run), "It could not go on.")
    row.refresh_from_db()
    assert (fresh(run).state, row.reason) == ("lost", "lost")
    assert leases.list_queued() == []


def test_run_that_was_queued_meanwhile_is_not_lost(run: Run):
    row = making.question(run)
    runs.park_run(run, [row.pk], [])
    parked = fresh(run)
    making.settle(row, Answered(True))
    runs.lose_run(parked, "Too late.")
    assert fresh(run).state == "queued"


def test_parked_run_without_open_questions_is_requeued(run: Run):
    row, waiting_prompt = making.question(run), making.prompt(run)
    runs.park_run(run, [row.pk], [waiting_prompt.pk])
    assert runs.requeue_stranded() == []
    Inquiry.objects.filter(pk=row.pk).update(state="answered")
    assert runs.requeue_stranded() == [], "somebody is still asked"
    Approval.objects.filter(pk=waiting_prompt.pk).update(state="withdrawn")
    assert runs.requeue_stranded() == [run.pk]
    assert fresh(run).state == "queued"
    assert runs.requeue_stranded() == []


@pytest.mark.parametrize("end", ["fail", "stop", "lose"])
def test_unhandled_reply_begins_the_next_turn(conversation: Conversation, run: Run, end: str):
    runs.interrupt_run(conversation.pk, InterruptKind.RESPOND, Decider("person", "Ada"), "Skip it")
    match end:
        case "fail":
            runs.fail_run(run, CancellationReason.LOST, RunState.FAILED)
        case "stop":
            leases.release_lease(run)
            runs.interrupt_run(conversation.pk, InterruptKind.STOP, Decider("person", "Ada"))
        case _:
            runs.lose_run(run, "It could not go on.")
    last = journal.read_elements(conversation.pk)[-1].kind
    assert last == ChatRequest("Skip it", author="Ada")
    assert not RunInterrupt.objects.filter(kind="respond", handled_at=None).exists()


def test_ended_run_closes_its_questions(run: Run):
    row, waiting_prompt = making.question(run), making.prompt(run)
    assert runs.end_run(run, RunState.DONE)
    row.refresh_from_db()
    assert (row.state, row.reason) == ("cancelled", "lost")
    assert approvals.get_approval(waiting_prompt.pk).state == "withdrawn"


def test_empty_response_does_not_block_the_run(conversation: Conversation, run: Run):
    row = making.question(run)
    runs.interrupt_run(conversation.pk, InterruptKind.RESPOND, Decider("person", "Ada"), "")
    (interrupt,) = interrupts.list_pending([run])
    assert runs.park_run(run, [row.pk], []) is False
    interrupts.mark_handled([interrupt.pk])
    assert runs.park_run(run, [row.pk], []) is True


def test_request_approval_by_a_process_without_the_lease_is_refused(run: Run):
    expire_lease(run)
    runs.recover_expired(LEASE_SECONDS)
    making.acquire_run(run, "other")
    with pytest.raises(LeaseLost):
        approvals.request_approval(
            run.conversation_id, ApprovalKind.RUN, "call_1", "vault", {}, held_run=run
        )

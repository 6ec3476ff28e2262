"""Runs: start, recovery and end of a turn's execution, which is a row."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now

from jpweb.store import approvals, db_text, journal
from jpweb.store.choices import (
    UNFINISHED_STATES,
    Act,
    ApprovalState,
    InterruptKind,
    Origin,
    RunPhase,
    RunState,
)
from jpweb.store.database import clock
from jpweb.store.database.availability import INCONSISTENT_ROWS
from jpweb.store.errors import AlreadyRunning, NothingToRetry, ReadOnlyConversation
from jpweb.store.inbox import current_roles, queue
from jpweb.store.inquiries import OPEN_STATE, Decider
from jpweb.store.ledger.entries import SYSTEM, Actor, Place, record_act
from jpweb.store.models import Approval, Conversation, Inquiry, Person, Run, Turn
from jpweb.store.run_queue import (
    call_checkpoints,
    heartbeats,
    interrupts,
    jobs,
    leases,
    open_calls,
    token_usage,
    unanswered_inquiries,
)
from jpweb.store.sql.compiled_query import CompiledQuery
from jpweb.store.transcript import read_marks
from jpweb.stream import timestamps
from jpweb.stream.events import ChatRequest, ConversationEvent
from jpweb.stream.inquiry import CancellationReason, Cancelled, InquiryResponse

logger = logging.getLogger(__name__)

#: Processes that may die in a row while a run makes no progress; with the next death the run is
#: lost, since it may be the cause.
MAX_DEATHS = 5

#: Runs of a conversation whose models are listed.
MAX_LISTED_RUNS = 500
#: Stranded runs that one call of ``requeue_stranded`` queues.
_MAX_REQUEUED = 500
_ALREADY_RUNNING_TEXT = "A turn is already running in this conversation."


def start_run(
    conversation_id: int,
    person_id: int,
    provider: str,
    model: str = "",
    opening_events: Sequence[ConversationEvent] = (),
    *,
    requires_role: bool = False,
) -> Run:
    """Queue a run and append the events that open its turn, or nothing.

    ``requires_role``: the person needs a responder's role at the commit.
    Raises AlreadyRunning, ReadOnlyConversation, RoleEnded.
    """
    conversation = Conversation.objects.get(pk=conversation_id)
    if conversation.origin != Origin.NATIVE:
        raise ReadOnlyConversation(
            "This conversation is read-only here. Continue it in a terminal."
        )
    try:
        with transaction.atomic():
            run = Run.objects.create(
                conversation=conversation,
                provider=provider,
                model=model[:200],
                started_by_id=person_id,
                queued_at=Now(),
            )
            length = journal.append_events(conversation_id, list(opening_events))
            if requires_role:
                current_roles.require_current_responder(person_id, conversation.workspace_id)
            if opening_events:  # a retry has none
                read_marks.extend_mark(person_id, conversation_id, length)
            token_usage.assign_turn(run)
            starter = Actor.from_person(Person.objects.get(pk=person_id))
            model_id = f"{provider}/{model}"
            record_act(Act.RUN_STARTED, starter, _get_place(run), model=model_id)
            jobs.enqueue_job(run.pk)
            return run
    except IntegrityError as error:
        raise AlreadyRunning(_ALREADY_RUNNING_TEXT) from error


def require_no_run(conversation_id: int) -> None:
    """Raise AlreadyRunning where a run is unfinished; ``start_run`` decides in a race."""
    if Run.objects.filter(conversation_id=conversation_id, state__in=UNFINISHED_STATES).exists():
        raise AlreadyRunning(_ALREADY_RUNNING_TEXT)


def require_retryable(conversation_id: int) -> None:
    """Raise NothingToRetry unless the newest run failed or was lost, and its turn is the last."""
    newest_run = get_newest(conversation_id)
    if newest_run is None or not newest_run.has_failed:
        raise NothingToRetry("The last turn didn't fail. Send a message instead.")
    if newest_run.is_overtaken(Turn.objects.filter(conversation=conversation_id).count()):
        raise NothingToRetry("jp began another turn since. Send a message instead.")


@transaction.atomic
def end_run(run: Run, state: RunState, problem: str = "") -> bool:
    """End a run that its holder executes; tells whether it did.

    A run is not done where a person sent words during it that no event holds yet. Raises LeaseLost.
    """
    journal.lock_conversation(run.conversation_id)
    leases.assert_held(run)
    if state == RunState.DONE and interrupts.list_replies(run):
        return False
    if _is_waiting_for_people(run):
        close_open(
            run, CancellationReason.LOST
        )  # its calls have ended, so no call waits for an answer
    if state == RunState.DONE:
        unanswered_inquiries.mark_all(run.conversation_id)
    return _mark_ended(run, Run.objects.filter(pk=run.pk), state, problem)


@transaction.atomic
def fail_run(
    run: Run,
    reason: CancellationReason,
    state: RunState,
    problem: str = "",
    failure: str = "",
    decider: Decider | None = None,
) -> bool:
    """End a run whose turn is incomplete; close its questions and calls. Raises LeaseLost.

    ``failure`` is the kind of a provider's failure; ``decider`` is the person who stopped the run,
    and so withdrew its questions.
    """
    journal.lock_conversation(run.conversation_id)
    leases.assert_held(run)
    close_open(run, reason, decider)
    return _mark_ended(run, Run.objects.filter(pk=run.pk), state, problem, failure)


@transaction.atomic
def mark_failed(run: Run, problem: str) -> bool:
    """Mark a run as failed whose questions and calls cannot be closed. Raises LeaseLost."""
    journal.lock_conversation(run.conversation_id)
    leases.assert_held(run)
    return _mark_ended(run, Run.objects.filter(pk=run.pk), RunState.FAILED, problem)


def list_models(conversation_id: int) -> list[tuple[datetime, str, str]]:
    """Return start, provider and model of the newest runs of a conversation, oldest first."""
    rows = Run.objects.filter(conversation_id=conversation_id).order_by("-id")
    return list(reversed(rows.values_list("started_at", "provider", "model")[:MAX_LISTED_RUNS]))


def get_newest(conversation_id: int) -> Run | None:
    """Return the newest run of a conversation, with the marks of its approvals."""
    return next(iter(_newest_query([conversation_id])), None)


#: The ORM takes 2 ms longer, for each page of a conversation.
_newest_query = CompiledQuery(
    lambda conversation_ids: (
        Run.objects.filter(conversation_id__in=conversation_ids)
        .select_related("started_by")
        .annotate(**queue.build_approval_marks(run=OuterRef("pk")))
        .order_by("-id")[:1]
    )
)


def get_unfinished(conversation_id: int) -> Run | None:
    """Return the unfinished run of a conversation, or None."""
    unfinished_runs = Run.objects.filter(
        conversation_id=conversation_id, state__in=UNFINISHED_STATES
    )
    return unfinished_runs.select_related("conversation").first()


def recover_expired(lease_seconds: float, own_run_ids: Collection[int] = ()) -> list[Run]:
    """Queue the runs whose leases expired; returns all runs that this changed.

    A run with more than ``MAX_DEATHS`` deaths since its last progress is lost instead, unless
    it waits for people. ``own_run_ids`` are the runs that this process executes: it does not
    take its own runs away from itself for renewing their leases late.
    """
    changed_runs: list[Run] = []
    for run in leases.list_expired(own_run_ids):
        has_died = heartbeats.has_died(run, lease_seconds)
        # The death of this holder is recorded only when the run is queued again.
        death_count = heartbeats.count_deaths(run, lease_seconds) + has_died
        if has_died and death_count > MAX_DEATHS and not _is_waiting_for_people(run):
            _lose_or_mark_lost(
                run, f"The server stopped {death_count} times while this turn was running."
            )
        elif not leases.requeue_expired(run, has_died=has_died):
            continue
        changed_runs.append(run)
    return changed_runs


def requeue_stranded() -> list[int]:
    """Queue the parked runs that have nothing open; returns their keys.

    The answer that settles the last open row of a run queues it. This covers the cases that
    no code path foresaw.
    """
    open_questions = Inquiry.objects.filter(run=OuterRef("pk"), state=OPEN_STATE)
    open_approvals = Approval.objects.filter(run=OuterRef("pk"), state=ApprovalState.OPEN)
    parked_runs = Run.objects.filter(
        ~Exists(open_questions), ~Exists(open_approvals), state=RunState.PARKED
    )
    keys = list(parked_runs.order_by("id").values_list("pk", flat=True)[:_MAX_REQUEUED])
    return [key for key in keys if leases.requeue_parked(key)]


@transaction.atomic
def interrupt_run(
    conversation_id: int, kind: InterruptKind, decider: Decider, text: str = ""
) -> Run | None:
    """Send an interrupt to the run of a conversation; returns the run, None where none is.

    A run without a holder is stopped here; for the other kinds it is queued.
    """
    if get_unfinished(conversation_id) is None:
        return None
    journal.lock_conversation(conversation_id)
    run = get_unfinished(conversation_id)  # again, under the lock
    if run is None:
        return None
    if decider.member_id is not None:
        current_roles.require_current_responder(decider.member_id, run.conversation.workspace_id)
    actor = Actor.from_decider(decider)
    record_act(Act.RUN_INTERRUPTED, actor, _get_place(run), kind=str(kind))
    if kind == InterruptKind.STOP and run.state != RunState.RUNNING:
        _stop_idle(run, decider)
        return run
    interrupts.add_interrupt(run, kind, decider, text)
    leases.requeue_parked(run.pk)
    return run


@transaction.atomic
def park_run(run: Run, questions: Iterable[int], decisions: Iterable[int]) -> bool:
    """Park a run whose calls wait for these inquiries and approvals; tells whether it was.

    It is not where one of them is settled, where a call without a response has not used its
    decision, or where an interrupt is pending.
    """
    journal.lock_conversation(run.conversation_id)
    question_ids, approval_ids = set(questions), set(decisions)
    open_count = Inquiry.objects.filter(pk__in=question_ids, state=OPEN_STATE).count()
    open_count += Approval.objects.filter(pk__in=approval_ids, state=ApprovalState.OPEN).count()
    if not open_count or open_count != len(question_ids) + len(approval_ids):
        return False
    if _has_unused_decision(run) or interrupts.list_pending([run]):
        return False
    held_run = Run.objects.filter(pk=run.pk, fence=run.fence, state=RunState.RUNNING)
    changes = {"state": RunState.PARKED, "phase": RunPhase.WAITING}
    return bool(
        held_run.update(**changes, holder="", lease_until=None, death_count=0, expired_holders="")
    )


@transaction.atomic
def postpone_run(run: Run) -> bool:
    """Queue a run that its holder could not begin; tells whether it is queued.

    A stop that a person sent meanwhile ends it instead.
    """
    journal.lock_conversation(run.conversation_id)
    for interrupt in interrupts.list_pending([run]):
        if interrupt.kind == InterruptKind.STOP:
            _stop_idle(run, Decider("person", interrupt.person_name, interrupt.person_id))
            interrupts.mark_handled([interrupt.pk])
            return False
    return leases.postpone_run(run)


def lose_run(run: Run, problem: str) -> None:
    """Mark a run as lost that no process can continue; does nothing where its row has changed."""
    with transaction.atomic():
        journal.lock_conversation(run.conversation_id)
        unchanged_run = Run.objects.filter(pk=run.pk, fence=run.fence, state=run.state)
        if _mark_ended(run, unchanged_run, RunState.LOST, problem):
            close_open(run, CancellationReason.LOST)


def _lose_or_mark_lost(run: Run, problem: str) -> None:
    """Mark a run as lost even where its journal cannot be closed: other runs await recovery."""
    try:
        lose_run(run, problem)
    except INCONSISTENT_ROWS as error:
        logger.error(  # noqa: TRY400  the traceback would contain the rows
            "Run %s was marked as lost, but its end could not be recorded: %r", run.pk, error
        )
        unchanged_run = Run.objects.filter(pk=run.pk, fence=run.fence, state=run.state)
        with transaction.atomic():
            _mark_ended(run, unchanged_run, RunState.LOST, problem)


@transaction.atomic
def close_open(run: Run, reason: CancellationReason, decider: Decider | None = None) -> None:
    """Close every open question and tool call of a run, and withdraw its approvals."""
    # Locked first, so that no answer arrives between the queries and the writes.
    journal.lock_conversation(run.conversation_id)
    approvals.withdraw_all(run)
    timestamp = timestamps.format_timestamp(clock.now())
    note = (decider or Decider("system")).make_note(withdrawn=decider is not None)
    for row in Inquiry.objects.filter(run=run, state=OPEN_STATE).order_by("position"):
        response = InquiryResponse(row.inquiry_id, Cancelled(reason))
        journal.append_events(
            run.conversation_id, [ConversationEvent(timestamp, response, note)], row=row
        )
    elements = journal.read_elements(run.conversation_id)
    responses = list(open_calls.build_responses(run, elements, timestamp))
    call_checkpoints.clear_checkpoints(run)
    journal.append_events(run.conversation_id, responses)
    # Unhandled texts of interrupts become requests, with which the next turn begins.
    unhandled_replies = interrupts.list_replies(run)
    requests = [
        ChatRequest(words.text, author=words.person_name or None) for words in unhandled_replies
    ]
    journal.append_events(
        run.conversation_id, [ConversationEvent(timestamp, words) for words in requests]
    )
    interrupts.mark_handled(words.pk for words in unhandled_replies)


def _stop_idle(run: Run, decider: Decider) -> None:
    # Ended first: settling its last question would queue the run again.
    actor = Actor.from_decider(decider)
    _mark_ended(run, Run.objects.filter(pk=run.pk), RunState.STOPPED, actor=actor)
    close_open(run, CancellationReason.USER, decider)


def _mark_ended(
    run: Run,
    unchanged_run: QuerySet[Run],
    state: RunState,
    problem: str = "",
    failure: str = "",
    actor: Actor = SYSTEM,
) -> bool:
    """Mark a run as ended where ``unchanged_run`` still finds its row; tells whether it did."""
    was_updated = unchanged_run.update(
        state=state,
        holder="",
        lease_until=None,
        queued_at=None,
        problem=db_text.clean_text(problem)[:1000],
        failure=failure,
        ended_at=clock.now(),
    )
    if was_updated:
        record_act(Act.RUN_ENDED, actor, _get_place(run), state=str(state), failure=failure)
    return bool(was_updated)


def _get_place(run: Run) -> Place:
    return Place(run.conversation.workspace_id, run.conversation_id, f"run:{run.pk}")


def _is_waiting_for_people(run: Run) -> bool:
    """Tell whether a run has an open question or approval."""
    questions = Inquiry.objects.filter(run=run, state=OPEN_STATE)
    return questions.exists() or run.approvals.filter(state=ApprovalState.OPEN).exists()


def list_open_calls(conversation_id: int) -> list[str]:
    """Return the ids of the tool calls of the last turn without a response."""
    return open_calls.list_open_calls(journal.read_elements(conversation_id))


def _has_unused_decision(run: Run) -> bool:
    """Tell whether a call has a decision to go on with; one that was interrupted first has not."""
    decided_ids = approvals.list_decided_calls(run)
    if not decided_ids:
        return False
    calls = open_calls.list_calls(journal.read_elements(run.conversation_id))
    open_ids = {call_id for call_id, has_response in calls if not has_response}
    ended_ids = {db_text.clean_text(call_id) for call_id, _ in calls if call_id not in open_ids}
    return not decided_ids <= ended_ids

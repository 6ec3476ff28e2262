"""Runs: a turn being executed, as a row."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from jpweb.store import journal, plain, prompts
from jpweb.store.errors import AlreadyRunning, NothingToRetry, ReadOnly
from jpweb.store.inquiries import OPEN, Decider
from jpweb.store.models import Conversation, Inquiry, Run
from jpweb.store.terms import Origin, PromptState, RunState
from jpweb.stream import timestamps
from jpweb.stream.events import ConversationEvent, ToolCallRequest, ToolCallResponse
from jpweb.stream.inquiry import CancellationReason, Cancelled, InquiryResponse
from jpweb.stream.repair import INTERRUPTED
from jpweb.stream.turns import pair, split

#: How often a run is gone on with after its process ended. What ends a server may be the turn.
RESUMPTIONS = 5

_SECOND = "A turn is running in this conversation."


def begin(
    conversation_id: int,
    person_id: int,
    provider: str,
    holder: str,
    model: str = "",
    opening: Sequence[ConversationEvent] = (),
) -> Run:
    """Insert the row of a run, and the events that open its turn, or nothing.

    Raises AlreadyRunning, ReadOnly.
    """
    conversation = Conversation.objects.get(pk=conversation_id)
    if conversation.origin != Origin.NATIVE:
        raise ReadOnly("This conversation belongs to jp; continue it there.")
    try:
        with transaction.atomic():
            run = Run.objects.create(
                conversation=conversation,
                state=RunState.RUNNING,
                provider=provider,
                model=model[:200],
                holder=holder,
                started_by_id=person_id,
            )
            journal.append(conversation_id, list(opening), run)
            return run
    except IntegrityError as error:
        raise AlreadyRunning(_SECOND) from error


def refuse_second(conversation_id: int) -> None:
    """Raise AlreadyRunning where a run is under way; ``begin`` is what decides in a race."""
    if Run.objects.filter(conversation_id=conversation_id, state=RunState.RUNNING).exists():
        raise AlreadyRunning(_SECOND)


def refuse_retry(conversation_id: int) -> None:
    """Raise NothingToRetry unless the newest run failed, or lost its process."""
    newest = latest(conversation_id)
    if newest is None or newest.state not in (RunState.FAILED, RunState.LOST):
        raise NothingToRetry("The last turn did not fail: say something instead.")


def end(run_id: int, state: RunState, problem: str = "", failure: str = "") -> bool:
    """End a run that is running; tells whether it was. ``failure``: the kind of a provider's."""
    running = Run.objects.filter(pk=run_id, state=RunState.RUNNING)
    return bool(
        running.update(
            state=state,
            problem=plain.text(problem)[:1000],
            failure=failure,
            ended_at=timezone.now(),
        )
    )


def latest(conversation_id: int) -> Run | None:
    """Return the newest run of a conversation."""
    runs = Run.objects.filter(conversation_id=conversation_id).select_related("started_by")
    return runs.order_by("-id").first()


def take_over(holder: str) -> list[Run]:
    """Return the runs that a process of this holder left behind, to be gone on with.

    One that was left behind too often is lost instead, unless it was waiting for somebody: its
    open tool calls end as interrupted, so that the record says what happened. Questions whose run
    has ended are closed as ``lost``: a commit that was under way then can leave them.
    """
    left = Q(inquiries__state=OPEN) | Q(prompts__state=PromptState.OPEN)
    for run in Run.objects.filter(left, ~Q(state=RunState.RUNNING), holder=holder).distinct():
        close(run, CancellationReason.LOST)
    taken: list[Run] = []
    stale = Run.objects.filter(state=RunState.RUNNING, holder=holder)
    for run in stale.select_related("conversation__workspace").order_by("id"):
        if run.resumed >= RESUMPTIONS and not _waits(run):
            lose(run, f"The server ended {run.resumed + 1} times while this turn ran.")
            continue
        run.resumed += 1
        run.save(update_fields=["resumed"])
        taken.append(run)
    return taken


def _waits(run: Run) -> bool:
    """Tell whether a run does nothing but wait for people."""
    questions = Inquiry.objects.filter(run=run, state=OPEN)
    return questions.exists() or run.prompts.filter(state=PromptState.OPEN).exists()


@transaction.atomic
def lose(run: Run, problem: str) -> None:
    """End a run that nobody executes any more."""
    close(run, CancellationReason.LOST)
    end(run.pk, RunState.LOST, problem)


@transaction.atomic
def close(run: Run, reason: CancellationReason) -> None:
    """Give every open question and tool call of a run an end on record; withdraw its prompts."""
    # Held from here on, so that no answer comes between the look and the record.
    Conversation.objects.select_for_update().filter(pk=run.conversation_id).first()
    prompts.withdraw_all(run)
    stamp = timestamps.written(datetime.now(UTC))
    by = Decider("system").note()
    open_rows = Inquiry.objects.filter(run=run, state=OPEN).order_by("position")
    journal.append(
        run.conversation_id,
        [
            ConversationEvent(stamp, InquiryResponse(row.inquiry_id, Cancelled(reason)), by)
            for row in open_rows
        ],
    )
    journal.append(
        run.conversation_id,
        [
            ConversationEvent(stamp, ToolCallResponse(call_id, INTERRUPTED, is_error=True))
            for call_id in open_calls(run.conversation_id)
        ],
    )


def open_calls(conversation_id: int) -> list[str]:
    """Return the ids of the tool calls of the last turn that have no response."""
    read = journal.elements(conversation_id)
    turns = split(read)
    if not turns:
        return []
    pairs = pair(read, turns[-1])
    kinds = ((p, read[p].kind) for p in range(turns[-1].start, turns[-1].end))
    return [
        kind.id
        for position, kind in kinds
        if isinstance(kind, ToolCallRequest) and position not in pairs.responses
    ]

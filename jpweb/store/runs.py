"""Runs: a turn being executed, as a row; how it begins and how it ends."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now

from jpweb.store import journal, plain, prompts
from jpweb.store.database import clock
from jpweb.store.errors import AlreadyRunning, NothingToRetry, ReadOnly
from jpweb.store.inquiries import OPEN, Decider
from jpweb.store.models import Conversation, Inquiry, Prompt, Run
from jpweb.store.outage import BROKEN_ROWS
from jpweb.store.rows.prepared import Prepared
from jpweb.store.running import heartbeats, interruptions, jobs, kept, leases, leaving
from jpweb.store.terms import (
    UNFINISHED,
    InterruptKind,
    Origin,
    PromptState,
    RunPhase,
    RunState,
)
from jpweb.stream import timestamps
from jpweb.stream.events import (
    ChatRequest,
    ConversationEvent,
    ToolCallRequest,
    ToolCallResponse,
)
from jpweb.stream.inquiry import CancellationReason, Cancelled, InquiryResponse
from jpweb.stream.repair import INTERRUPTED
from jpweb.stream.turns import pair, split

logger = logging.getLogger(__name__)

#: Processes that may end, one after the other, while a run gets nowhere: it may be what ends them.
DEATHS = 5

#: Stranded runs that are brought back at once.
_RECALLED = 500
_SECOND = "A turn is already running in this conversation."


def begin(
    conversation_id: int,
    person_id: int,
    provider: str,
    model: str = "",
    opening: Sequence[ConversationEvent] = (),
) -> Run:
    """Queue a run and append the events that open its turn, or nothing.

    Raises AlreadyRunning, ReadOnly.
    """
    conversation = Conversation.objects.get(pk=conversation_id)
    if conversation.origin != Origin.NATIVE:
        raise ReadOnly("Managed by jp. Continue it there.")
    try:
        with transaction.atomic():
            run = Run.objects.create(
                conversation=conversation,
                provider=provider,
                model=model[:200],
                started_by_id=person_id,
                queued_at=Now(),
            )
            journal.append(conversation_id, list(opening))
            jobs.enqueue(run.pk)
            return run
    except IntegrityError as error:
        raise AlreadyRunning(_SECOND) from error


def refuse_second(conversation_id: int) -> None:
    """Raise AlreadyRunning where a run is under way; ``begin`` is what decides in a race."""
    if Run.objects.filter(conversation_id=conversation_id, state__in=UNFINISHED).exists():
        raise AlreadyRunning(_SECOND)


def refuse_retry(conversation_id: int) -> None:
    """Raise NothingToRetry unless the newest run failed, or lost its process."""
    newest = latest(conversation_id)
    if newest is None or newest.state not in (RunState.FAILED, RunState.LOST):
        raise NothingToRetry("The last turn didn't fail. Send a message instead.")


@transaction.atomic
def end(run: Run, state: RunState, problem: str = "", told: Iterable[int] = ()) -> bool:
    """End a run that its holder executes; tells whether it did.

    A turn is not done where somebody has said something in words meanwhile, other than what it was
    ``told``. Raises NotHolder.
    """
    journal.held(run.conversation_id)
    leases.guard(run)
    if state == RunState.DONE and interruptions.words(run, told):
        return False
    if _waits(run):
        close(run, CancellationReason.LOST)  # its calls have ended, so nobody would hear an answer
    if state == RunState.DONE:
        leaving.leave_all(run.conversation_id)
    return _end(Run.objects.filter(pk=run.pk), state, problem)


@transaction.atomic
def fail(
    run: Run, reason: CancellationReason, state: RunState, problem: str = "", failure: str = ""
) -> bool:
    """End a run whose turn is not complete, and what it has left open. Raises NotHolder.

    ``failure`` is the kind of a provider's.
    """
    journal.held(run.conversation_id)
    leases.guard(run)
    close(run, reason)
    return _end(Run.objects.filter(pk=run.pk), state, problem, failure)


def latest(conversation_id: int) -> Run | None:
    """Return the newest run of a conversation."""
    return next(iter(_newest([conversation_id])), None)


_newest = Prepared(
    lambda talks: (
        Run.objects.filter(conversation_id__in=talks)
        .select_related("started_by")
        .order_by("-id")[:1]
    )
)


def unfinished(conversation_id: int) -> Run | None:
    """Return the run of a conversation that has not ended."""
    found = Run.objects.filter(conversation_id=conversation_id, state__in=UNFINISHED)
    return found.select_related("conversation").first()


def recover(lease_seconds: float, besides: Collection[int] = ()) -> list[Run]:
    """Queue the runs whose leases ran out; returns all that this changed.

    One that ended its processes time and again without getting anywhere is lost instead, unless it
    was waiting for somebody. ``besides`` are the keys of runs that this process executes itself:
    that it was too slow to renew their leases is no reason to take them away from itself.
    """
    changed: list[Run] = []
    for run in leases.over(besides):
        died = heartbeats.has_died(run, lease_seconds)
        deaths = heartbeats.count_deaths(run, lease_seconds)
        if died and deaths >= DEATHS and not _waits(run):
            _lose_whole(run, f"The server stopped {deaths + 1} times while this turn was running.")
        elif not leases.bury(run, died=died):
            continue
        changed.append(run)
    return changed


def recall() -> list[int]:
    """Wake the parked runs that have nothing open; returns their keys.

    Whatever settles the last open thing of a run wakes it. This is for what nobody foresaw.
    """
    asked = Inquiry.objects.filter(run=OuterRef("pk"), state=OPEN)
    prompted = Prompt.objects.filter(run=OuterRef("pk"), state=PromptState.OPEN)
    parked = Run.objects.filter(~Exists(asked), ~Exists(prompted), state=RunState.PARKED)
    keys = list(parked.order_by("id").values_list("pk", flat=True)[:_RECALLED])
    return [key for key in keys if leases.wake(key)]


@transaction.atomic
def interrupt(conversation_id: int, kind: InterruptKind, by: Decider, text: str = "") -> Run | None:
    """Say something to the run of a conversation; returns the run, None where nothing runs.

    A run that nobody executes is stopped here; to hear anything else, it is woken.
    """
    if unfinished(conversation_id) is None:
        return None
    journal.held(conversation_id)
    run = unfinished(conversation_id)  # as it is from here on
    if run is None:
        return None
    if kind == InterruptKind.STOP and run.state != RunState.RUNNING:
        _stop(run, by)
        return run
    interruptions.say(run, kind, by, text)
    leases.wake(run.pk)
    return run


@transaction.atomic
def park(run: Run, questions: Iterable[int], decisions: Iterable[int]) -> bool:
    """Put down a run whose calls wait for these inquiries and prompts; tells whether it was.

    Not where one of them is settled by now, where a call has yet to go on with a decision, or
    where somebody said something to the run.
    """
    journal.held(run.conversation_id)
    asked, prompted = set(questions), set(decisions)
    still = Inquiry.objects.filter(pk__in=asked, state=OPEN).count()
    still += Prompt.objects.filter(pk__in=prompted, state=PromptState.OPEN).count()
    if not still or still != len(asked) + len(prompted):
        return False
    if prompts.undone(run) or interruptions.waiting([run]):
        return False
    held = Run.objects.filter(pk=run.pk, fence=run.fence, state=RunState.RUNNING)
    parked = {"state": RunState.PARKED, "phase": RunPhase.WAITING}
    return bool(held.update(**parked, holder="", lease_until=None, deaths=0, left_by=""))


def lose(run: Run, problem: str) -> None:
    """End a run that nobody can go on with; does nothing where somebody does meanwhile."""
    with transaction.atomic():
        journal.held(run.conversation_id)
        same = Run.objects.filter(pk=run.pk, fence=run.fence, state=run.state)
        if _end(same, RunState.LOST, problem):
            close(run, CancellationReason.LOST)


def _lose_whole(run: Run, problem: str) -> None:
    """End a run, also one whose journal takes no end: others wait to be recovered after it."""
    try:
        lose(run, problem)
    except BROKEN_ROWS as broken:
        logger.error("run %s is lost without an end on record: %r", run.pk, broken)  # noqa: TRY400  the rows would stand in its traceback
        same = Run.objects.filter(pk=run.pk, fence=run.fence, state=run.state)
        _end(same, RunState.LOST, problem)


@transaction.atomic
def close(run: Run, reason: CancellationReason, by: Decider | None = None) -> None:
    """Give every open question and tool call of a run an end on record; withdraw its prompts."""
    # Held from here on, so that no answer comes between the look and the record.
    journal.held(run.conversation_id)
    prompts.withdraw_all(run)
    stamp = timestamps.written(clock.now())
    note = (by or Decider("system")).note(withdrawn=by is not None)
    for row in Inquiry.objects.filter(run=run, state=OPEN).order_by("position"):
        closed = InquiryResponse(row.inquiry_id, Cancelled(reason))
        journal.append(run.conversation_id, [ConversationEvent(stamp, closed, note)], row=row)
    kept.forget(run)
    journal.append(
        run.conversation_id,
        [
            ConversationEvent(stamp, ToolCallResponse(call_id, INTERRUPTED, is_error=True))
            for call_id in open_calls(run.conversation_id)
        ],
    )
    # What somebody said and no turn acted on is what the next one begins with.
    left = interruptions.words(run)
    said = [ChatRequest(words.text, author=words.person_name or None) for words in left]
    journal.append(run.conversation_id, [ConversationEvent(stamp, words) for words in said])
    interruptions.taken(words.pk for words in left)


def _stop(run: Run, by: Decider) -> None:
    # Ended first: a settled question would wake it.
    _end(Run.objects.filter(pk=run.pk), RunState.STOPPED)
    close(run, CancellationReason.USER, by)


def _end(found: QuerySet[Run], state: RunState, problem: str = "", failure: str = "") -> bool:
    return bool(
        found.update(
            state=state,
            holder="",
            lease_until=None,
            queued_at=None,
            problem=plain.text(problem)[:1000],
            failure=failure,
            ended_at=clock.now(),
        )
    )


def _waits(run: Run) -> bool:
    """Tell whether a run does nothing but wait for people."""
    questions = Inquiry.objects.filter(run=run, state=OPEN)
    return questions.exists() or run.prompts.filter(state=PromptState.OPEN).exists()


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

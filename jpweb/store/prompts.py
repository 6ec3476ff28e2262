"""Prompts: may this call run, may the model see this result (RFD 018).

They stand in no journal. The row makes a prompt outlive a page, and decides who was first.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from django.db import transaction
from django.db.models import QuerySet

from jpweb.store import journal, plain
from jpweb.store.database import clock
from jpweb.store.errors import AlreadyDecided, UnknownPrompt
from jpweb.store.inquiries import Decider, goes_on, waiting
from jpweb.store.models import Inquiry, Membership, Prompt, Run
from jpweb.store.rows.prepared import Prepared
from jpweb.store.running import leases
from jpweb.store.telling.standing import COUNTED, DESK
from jpweb.store.terms import PromptKind, PromptState, Role, RunState

#: In ``shown``, though no page shows it: the text of the tool that the decision holds for.
_DEFINITION = "definition"
_REMAINING = ("described", "is_error", _DEFINITION)


@transaction.atomic
def ask(
    conversation_id: int,
    kind: PromptKind,
    tool_call_id: str,
    tool_name: str,
    shown: Mapping[str, Any],
    held: Run | None = None,
) -> Prompt:
    """Insert a prompt of the run under way. Raises UnknownPrompt where there is none.

    ``held`` is that run as its holder has it: raises NotHolder where another process does.

    One that is there since before the run was put down, or its process ended, stands, where it
    shows the same: open it goes on waiting, decided it is returned with its decision. Where it
    shows something else, it is withdrawn.
    """
    running = Run.objects.filter(conversation_id=conversation_id, state=RunState.RUNNING)
    run = running.select_related("conversation").first()
    if run is None:
        raise UnknownPrompt("The run has ended.")
    if held is not None:
        leases.guard(held)
    shown = plain.deep(dict(shown))
    digest = _digest(shown)
    stands = _standing(run).filter(kind=kind, tool_call_id=plain.text(tool_call_id))
    before = _whole(stands).order_by("-pk").first()
    if before is not None and before.digest == digest:
        return before
    if before is not None:
        _drop(before)
    made = Prompt.objects.create(
        conversation_id=conversation_id,
        workspace_id=run.conversation.workspace_id,
        run=run,
        kind=kind,
        tool_call_id=plain.text(tool_call_id),
        tool_name=plain.text(tool_name)[:200],
        shown=shown,
        digest=digest,
    )
    return get(made.pk)


def spend(prompt_id: int) -> None:
    """Note that a call has gone on with the decision: should it run again, it is asked anew."""
    Prompt.objects.filter(pk=prompt_id).update(spent=True)


def calls_not_run(run: Run) -> frozenset[str]:
    """Return the ids of the calls that have not run: somebody has yet to permit it, or just has."""
    found = _standing(run).filter(kind=PromptKind.RUN)
    return frozenset(found.values_list("tool_call_id", flat=True))


def undone(run: Run) -> bool:
    """Tell whether something is decided that its call has yet to go on with."""
    return _standing(run).filter(state=PromptState.DECIDED).exists()


def permissions(run: Run) -> dict[tuple[str, str], bool]:
    """Return what people let count for the rest of the turn: may this tool run; the last word.

    The keys are the tool's name and its definition when the person decided.
    """
    settled = Prompt.objects.filter(run=run, kind=PromptKind.RUN, state=PromptState.DECIDED)
    words = settled.order_by("settled_at", "pk").values_list("tool_name", "shown", "decision")
    return {
        (tool, shown.get(_DEFINITION, "")): decision.get("allow") is True
        for tool, shown, decision in words
        if decision and decision.get("remember") is True
    }


def get(prompt_id: int) -> Prompt:
    """Return a row with its conversation. Raises UnknownPrompt."""
    row = _whole(Prompt.objects.filter(pk=prompt_id)).first()
    if row is None:
        raise UnknownPrompt("Approval not found.")
    return row


def of_call(conversation_id: int, kind: PromptKind, tool_call_id: str) -> Prompt | None:
    """Return the open prompt of a tool call."""
    found = Prompt.objects.filter(
        conversation_id=conversation_id,
        kind=kind,
        tool_call_id=plain.text(tool_call_id),
        state=PromptState.OPEN,
    )
    return _whole(found).order_by("-pk").first()


def open_for(person_id: int) -> QuerySet[Prompt]:
    """Return the prompts of running turns that this person may decide, oldest first."""
    return _whole(_open_for(person_id)).order_by("asked_at", "id")


def waiting_count(
    person_id: int, conversation_id: int | None = None, most: int | None = COUNTED
) -> int:
    """Return how many questions and prompts wait for this person, ``most`` at most; one query."""
    if conversation_id is None and most == COUNTED:  # in the head of every page
        return len(_first_waiting([person_id]))
    there = {} if conversation_id is None else {"conversation_id": conversation_id}
    return _list_waiting([person_id], **there)[:most].count()


def queue(person_id: int, conversation_id: int | None = None) -> list[Inquiry | Prompt]:
    """Return the oldest of what waits for this person, in the order in which it was asked."""
    questions, prompts = waiting(person_id), open_for(person_id)
    if conversation_id is not None:
        questions = questions.filter(conversation_id=conversation_id)
        prompts = prompts.filter(conversation_id=conversation_id)
    rows: list[Inquiry | Prompt] = [*questions[:DESK], *prompts[:DESK]]
    return sorted(rows, key=lambda row: row.asked_at)[:DESK]


def is_one(row: Inquiry | Prompt) -> TypeGuard[Prompt]:
    """Tell whether something that waits is a prompt, and no question."""
    return isinstance(row, Prompt)


@transaction.atomic
def decide(prompt_id: int, decision: Mapping[str, Any], by: Decider) -> Prompt:
    """Put a decision on its row, by compare-and-set, and wake the run that is parked over it.

    Raises UnknownPrompt, AlreadyDecided.
    """
    journal.held(get(prompt_id).conversation_id)
    row = _settle(
        prompt_id,
        state=PromptState.DECIDED,
        decision=dict(decision),
        decider_id=by.person_id,
        decider_name=plain.text(by.name)[:200],
    )
    return get(prompt_id) if leases.wake(row.run_id) else row


def withdraw(prompt_id: int) -> Prompt:
    """Close a prompt that nobody has decided. Raises UnknownPrompt, AlreadyDecided."""
    return _settle(prompt_id, state=PromptState.WITHDRAWN)


def withdraw_all(run: Run) -> int:
    """Close what a run has left open; returns how many."""
    left = Prompt.objects.filter(run=run, state=PromptState.OPEN).values_list("pk", flat=True)
    closed = 0
    for key in list(left):
        try:
            withdraw(key)
        except AlreadyDecided:
            continue  # somebody decided a moment earlier, and that stands
        closed += 1
    return closed


def _standing(run: Run) -> QuerySet[Prompt]:
    """Return the prompts whose calls still have to do with them."""
    left = (PromptState.OPEN, PromptState.DECIDED)
    return Prompt.objects.filter(run=run, state__in=left, spent=False)


def _drop(row: Prompt) -> None:
    if row.state == PromptState.OPEN:
        withdraw(row.pk)
    else:
        spend(row.pk)


def _digest(shown: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()


def _settle(prompt_id: int, **values: Any) -> Prompt:
    row = get(prompt_id)
    mine = Prompt.objects.filter(pk=prompt_id, state=PromptState.OPEN)
    values |= {"shown": _remains(row), "settled_at": clock.now()}
    if not mine.update(**values):
        raise AlreadyDecided(get(prompt_id))
    return get(prompt_id)


def _remains(row: Prompt) -> dict[str, Any]:
    """Return what is kept of a settled prompt: not the result that may have been withheld.

    Arguments stand in the journal, with the call; a result does once it is delivered.
    """
    return {key: row.shown[key] for key in _REMAINING if key in row.shown}


def _list_waiting(people: Sequence[int], **there: int) -> QuerySet[Inquiry, tuple[int]]:
    """Return the keys of the questions and prompts that wait for these people, in no order."""
    questions = waiting(*people).filter(**there).order_by().values_list("pk")
    return questions.union(_open_for(*people).filter(**there).values_list("pk"), all=True)


_first_waiting = Prepared(lambda people: _list_waiting(people)[:COUNTED])


def _open_for(*people: int) -> QuerySet[Prompt]:
    workspaces = Membership.objects.filter(person_id__in=people, role__gte=Role.RESPONDER)
    return Prompt.objects.filter(
        goes_on(), workspace__in=workspaces.values("workspace_id"), state=PromptState.OPEN
    )


def _whole(found: QuerySet[Prompt]) -> QuerySet[Prompt]:
    return found.select_related("conversation__workspace", "run", "decider")

"""Prompts: may this call run, may the model see this result (RFD 018).

They stand in no journal. The row makes a prompt outlive a page, and decides who was first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from django.db.models import QuerySet
from django.utils import timezone

from jpweb.store import plain
from jpweb.store.errors import AlreadyDecided, UnknownPrompt
from jpweb.store.inquiries import Decider, waiting
from jpweb.store.models import Inquiry, Membership, Prompt, Run
from jpweb.store.terms import PromptKind, PromptState, Role, RunState


def ask(
    conversation_id: int,
    kind: PromptKind,
    tool_call_id: str,
    tool_name: str,
    shown: Mapping[str, Any],
) -> Prompt:
    """Insert a prompt of the run under way. Raises UnknownPrompt where there is none.

    One that is open since before the run's process ended goes on waiting, where it shows the same;
    where it does not, it is withdrawn.
    """
    run = Run.objects.filter(conversation_id=conversation_id, state=RunState.RUNNING).first()
    if run is None:
        raise UnknownPrompt("The run that asks is over.")
    shown = plain.deep(dict(shown))
    waits = of_call(conversation_id, kind, tool_call_id)
    if waits is not None and waits.shown == shown:
        return waits
    if waits is not None:
        withdraw(waits.pk)
    made = Prompt.objects.create(
        conversation_id=conversation_id,
        run=run,
        kind=kind,
        tool_call_id=plain.text(tool_call_id),
        tool_name=plain.text(tool_name)[:200],
        shown=shown,
    )
    return get(made.pk)


def get(prompt_id: int) -> Prompt:
    """Return a row with its conversation. Raises UnknownPrompt."""
    row = _whole(Prompt.objects.filter(pk=prompt_id)).first()
    if row is None:
        raise UnknownPrompt("There is no such prompt.")
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


def waiting_count(person_id: int) -> int:
    """Return how many questions and prompts wait for this person; one query."""
    questions = waiting(person_id).order_by().values_list("pk")
    return questions.union(_open_for(person_id).values_list("pk"), all=True).count()


def queue(person_id: int, conversation_id: int | None = None) -> list[Inquiry | Prompt]:
    """Return all that waits for this person, in the order in which it was asked."""
    questions, prompts = waiting(person_id), open_for(person_id)
    if conversation_id is not None:
        questions = questions.filter(conversation_id=conversation_id)
        prompts = prompts.filter(conversation_id=conversation_id)
    return sorted([*questions, *prompts], key=lambda row: row.asked_at)


def is_one(row: Inquiry | Prompt) -> TypeGuard[Prompt]:
    """Tell whether something that waits is a prompt, and no question."""
    return isinstance(row, Prompt)


def decide(prompt_id: int, decision: Mapping[str, Any], by: Decider) -> Prompt:
    """Put a decision on its row, by compare-and-set. Raises UnknownPrompt, AlreadyDecided."""
    return _settle(
        prompt_id,
        state=PromptState.DECIDED,
        decision=dict(decision),
        decider_id=by.person_id,
        decider_name=plain.text(by.name)[:200],
    )


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


def _settle(prompt_id: int, **values: Any) -> Prompt:
    row = get(prompt_id)
    mine = Prompt.objects.filter(pk=prompt_id, state=PromptState.OPEN)
    values |= {"shown": _remains(row), "settled_at": timezone.now()}
    if not mine.update(**values):
        raise AlreadyDecided(get(prompt_id))
    return get(prompt_id)


def _remains(row: Prompt) -> dict[str, Any]:
    """Return what is kept of a settled prompt: not the result that may have been withheld.

    Arguments stand in the journal, with the call; a result does once it is delivered.
    """
    return {key: row.shown[key] for key in ("described", "is_error") if key in row.shown}


def _open_for(person_id: int) -> QuerySet[Prompt]:
    workspaces = Membership.objects.filter(person_id=person_id, role__gte=Role.RESPONDER)
    return Prompt.objects.filter(
        conversation__workspace__in=workspaces.values("workspace_id"),
        state=PromptState.OPEN,
        run__state=RunState.RUNNING,
    )


def _whole(found: QuerySet[Prompt]) -> QuerySet[Prompt]:
    return found.select_related("conversation__workspace", "run", "decider")

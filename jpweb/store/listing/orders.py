"""The orders of a list, each as ranges of an index."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from jpweb.store.inquiries import OPEN, goes_on
from jpweb.store.listing.choice import Choice, Sort, in_trouble
from jpweb.store.listing.ranges import Range
from jpweb.store.models import Conversation, Inquiry, Prompt
from jpweb.store.terms import PromptState


def ranges(choice: Choice) -> list[Range]:
    """Return what has to be read for a choice."""
    if choice.sort == Sort.WAITING:
        return _waiting(choice)
    # One by one as a list: a bare ``NOT archived`` is no key of an index for SQLite.
    rows = Conversation.objects.filter(archived__in=[choice.archived])
    wanted = choice.conditions()
    if choice.sort == Sort.LENGTH:
        wanted &= Q(origin=choice.origin) if choice.origin else Q()
        wanted &= in_trouble() if choice.problem else Q()
        return [Range(rows, "length", down=True, wanted=wanted or None)]
    if choice.problem:
        rows = rows.filter(in_trouble())
        wanted &= Q(origin=choice.origin) if choice.origin else Q()
    elif choice.origin:
        rows = rows.filter(origin=choice.origin)
    return [Range(rows, "last_activity", down=True, wanted=wanted or None)]


def pinned(*, archived: bool) -> Range:
    """Return the pinned conversations, pinned last first."""
    rows = Conversation.objects.filter(archived__in=[archived], pinned_at__isnull=False)
    return Range(rows, "pinned_at", down=True)


def open_rows() -> list[QuerySet[Any]]:
    """Return the questions and the prompts that a run holds open."""
    return [
        Inquiry.objects.filter(goes_on(), state=OPEN),
        Prompt.objects.filter(goes_on(), state=PromptState.OPEN),
    ]


def of_open_rows() -> list[Range]:
    """Return every question and prompt that waits, the longest waiting first."""
    return [
        Range(rows, "asked_at", down=False, conversation="conversation_id", nth=nth, of=2)
        for nth, rows in enumerate(open_rows())
    ]


def _waiting(choice: Choice) -> list[Range]:
    """Return conversations by what waits in them for the longest time: each by that alone."""
    there = "conversation__"
    wanted = choice.conditions(there) & Q(conversation__archived=choice.archived)
    if choice.origin:
        wanted &= Q(conversation__origin=choice.origin)
    if choice.problem:
        wanted &= ~Q(conversation__problem="")
    return [
        Range(
            rows.exclude(_earlier(nth, other=False)).exclude(_earlier(nth, other=True)),
            "asked_at",
            down=False,
            wanted=wanted,
            conversation="conversation_id",
            nth=nth,
            of=2,
        )
        for nth, rows in enumerate(open_rows())
    ]


def _earlier(nth: int, *, other: bool) -> Exists:
    """Return that something of the same conversation has waited for longer.

    Of what began at one instant, a question comes before a prompt where its key is no larger.
    """
    rows = open_rows()[1 - nth if other else nth]
    same = rows.filter(conversation_id=OuterRef("conversation_id"))
    at, key = OuterRef("asked_at"), OuterRef("pk")
    before = Q(pk__lte=key) if other and nth else Q(pk__lt=key)
    return Exists(same.filter(Q(asked_at__lt=at) | (Q(asked_at=at) & before)))

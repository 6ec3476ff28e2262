"""What is to be told to whom, and what has been.

The row of a notice is written before the notice is sent: of two processes one sends, and a crash
in between costs that notice. The question waits on its own row, whatever becomes of its notices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

from django.db import IntegrityError, transaction
from django.db.models import (
    DateTimeField,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    IntegerField,
    Model,
    OuterRef,
    QuerySet,
    Value,
    Window,
)
from django.db.models.functions import Now, RowNumber

from jpweb.store import plain
from jpweb.store.inquiries import OPEN, goes_on
from jpweb.store.models import Address, Inquiry, Membership, Notice, Prompt
from jpweb.store.telling import links
from jpweb.store.terms import PromptKind, PromptState, Role
from jpweb.stream.answers import ANSWER_TYPES

Row = TypeVar("Row", bound=Model)

#: What one address is told at most at a time; the rest is told at the next time.
EACH = 5


@dataclass(frozen=True, slots=True)
class Due:
    """Something that waits, and an address that has to be told of it.

    ``text`` is the question's, and empty for a secret one or one of an unknown kind: what is not
    sent is not read.
    """

    address_id: int
    person_id: int
    url: str = field(repr=False)
    workspace: str
    conversation: str
    asker: str
    inquiry_id: int | None = None
    text: str = field(default="", repr=False)
    secret: bool = False
    prompt_id: int | None = None
    prompt: PromptKind | None = None


def due(limit: int) -> list[Due]:
    """Return what addresses have to be told now, the oldest first; at most EACH of an address.

    That is what an unfinished run holds open for longer than the address's delay, where its person
    may answer now, and what it was not told of before. However much waits, the queries are four at
    most.
    """
    if not Address.objects.exists():
        return []
    found: list[Inquiry | Prompt] = [*_questions()[:limit], *_prompts()[:limit]]
    found.sort(key=lambda row: row.asked_at)
    keys = {_told(row) for row in found}
    rows = Address.objects.select_related("workspace").in_bulk(keys)
    taken: dict[int, int] = dict.fromkeys(rows, 0)
    chosen: list[Due] = []
    for row in found:
        to = rows.get(_told(row))
        if to is not None and taken[to.pk] < EACH and len(chosen) < limit:
            taken[to.pk] += 1
            chosen.append(_due(row, to))
    return chosen


def claim(what: Due) -> tuple[int, str] | None:
    """Take it on to tell; returns the notice's key, and for a question the token of a new link.

    Returns None where somebody else did, or where it does not wait for this person any more.
    """
    try:
        with transaction.atomic():
            if not _still(what):
                return None
            made = Notice.objects.create(
                address_id=what.address_id, inquiry_id=what.inquiry_id, prompt_id=what.prompt_id
            )
            token = links.issue(what.inquiry_id, what.person_id) if what.inquiry_id else ""
    except IntegrityError:
        return None
    return made.pk, token


def failed(notice_id: int, problem: str) -> None:
    """Note that a notice did not arrive, and why."""
    Notice.objects.filter(pk=notice_id).update(problem=plain.text(problem)[:500])


def _due(row: Inquiry | Prompt, to: Address) -> Due:
    usual: dict[str, Any] = {
        "address_id": to.pk,
        "person_id": to.person_id,
        "url": to.url,
        "workspace": to.workspace.name,
        "conversation": row.conversation.title,
    }
    if isinstance(row, Prompt):
        kind = PromptKind(row.kind)
        return Due(**usual, asker=row.tool_name, prompt_id=row.pk, prompt=kind)
    type_ = ANSWER_TYPES.get(row.answer_type)
    secret = type_ is not None and not type_.KEEP
    text = "" if type_ is None or secret else str(row.question.get("text", ""))
    asker = row.label or row.asker
    return Due(**usual, asker=asker, inquiry_id=row.pk, text=text, secret=secret)


def _questions() -> QuerySet[Inquiry]:
    return _to_tell(Inquiry.objects.filter(goes_on(), state=OPEN), "inquiry")


def _prompts() -> QuerySet[Prompt]:
    waiting = Prompt.objects.filter(goes_on(), state=PromptState.OPEN)
    return _to_tell(waiting, "prompt")


def _to_tell(waiting: QuerySet[Row], told: str) -> QuerySet[Row]:
    """Return a row for each address that has to be told, with the address's key as ``told``."""
    addresses = "conversation__workspace__addresses"
    may_answer = Membership.objects.filter(
        person_id=OuterRef("told_person"),
        workspace_id=OuterRef("conversation__workspace_id"),
        role__gte=Role.RESPONDER,
        person__is_active=True,
    )
    before = Notice.objects.filter(address_id=OuterRef("told"), **{told: OuterRef("pk")})
    seconds = ExpressionWrapper(F(f"{addresses}__delay"), IntegerField())
    delay = ExpressionWrapper(seconds * Value(timedelta(seconds=1)), DurationField())
    order = ("asked_at", "pk")
    found: QuerySet[Row] = (
        waiting.annotate(
            told=F(f"{addresses}__pk"),
            told_person=F(f"{addresses}__person_id"),
            told_at=ExpressionWrapper(F("asked_at") + delay, DateTimeField()),
        )
        .filter(~Exists(before), Exists(may_answer), told__isnull=False, told_at__lte=Now())
        .annotate(place=Window(RowNumber(), partition_by=F("told"), order_by=order))
        .filter(place__lte=EACH)
        .select_related("conversation")
        .order_by(*order)
    )
    return found


def _still(what: Due) -> bool:
    """Tell whether it waits, and whether the address is there and its person may answer."""
    found: QuerySet[Any] = (
        Prompt.objects.filter(pk=what.prompt_id, state=PromptState.OPEN)
        if what.prompt_id is not None
        else Inquiry.objects.filter(pk__in=[what.inquiry_id], state=OPEN)
    )
    may_answer = Membership.objects.filter(
        person_id=what.person_id,
        workspace__conversations=OuterRef("conversation"),
        workspace__addresses=what.address_id,
        role__gte=Role.RESPONDER,
        person__is_active=True,
    )
    return found.filter(Exists(may_answer), goes_on()).exists()


def _told(row: Inquiry | Prompt) -> int:
    key: int = row.told  # type: ignore[union-attr]  # annotated by _to_tell
    return key

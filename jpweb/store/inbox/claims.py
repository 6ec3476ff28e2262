"""Claims: who is on an open question. A claim tells others, and keeps nobody from answering.

It lapses by the database's clock, so that a closed browser leaves none behind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from jpweb.store.choices import UNFINISHED_STATES, Act, Role
from jpweb.store.database import clock
from jpweb.store.inquiries import OPEN_STATE, list_open
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import Approval, Inquiry, Membership, QuestionClaim
from jpweb.store.sql.compiled_query import CompiledQuery

if TYPE_CHECKING:
    from jpweb.store.models import Person

#: Seconds after which a claim lapses.
CLAIM_SECONDS = 10 * 60

_claims_query = CompiledQuery(
    lambda inquiry_ids: QuestionClaim.objects.filter(
        inquiry_id__in=inquiry_ids, until__gt=Now()
    ).select_related("person")
)


def list_claims(inquiry_ids: Collection[int]) -> dict[int, QuestionClaim]:
    """Return the claims of questions that have not lapsed, with their people; one query."""
    rows: list[QuestionClaim] = _claims_query(sorted(inquiry_ids)) if inquiry_ids else []
    return {row.inquiry_id: row for row in rows}


def attach_claims(rows: Iterable[Inquiry | Approval]) -> None:
    """Set ``claim`` of each question: its claim, or None. Approvals are skipped."""
    questions: list[Any] = [row for row in rows if isinstance(row, Inquiry)]
    claims_by_key = list_claims({row.pk for row in questions})
    for row in questions:
        row.claim = claims_by_key.get(row.pk)


def claim_question(inquiry: Inquiry, person: Person) -> bool:
    """Claim an open question for a person who may answer it; tell whether they hold it now.

    Of two people who claim at once, one inserts the row.
    """
    if not list_open(person.pk).filter(pk=inquiry.pk).exists():
        return False
    now = clock.now()
    QuestionClaim.objects.filter(inquiry=inquiry, until__lte=Now()).delete()
    try:
        with transaction.atomic():
            until = now + timedelta(seconds=CLAIM_SECONDS)
            QuestionClaim.objects.create(
                inquiry=inquiry, person=person, claimed_at=now, until=until
            )
            record_act(
                Act.QUESTION_CLAIMED, Actor.from_person(person), _make_place(inquiry),
                until=until.isoformat(),
            )  # fmt: skip
    except IntegrityError:
        return QuestionClaim.objects.filter(inquiry=inquiry, person=person).exists()
    return True


@transaction.atomic
def release_claim(inquiry: Inquiry, person: Person) -> bool:
    """End the claim of a person; tell whether they had it."""
    count, _ = QuestionClaim.objects.filter(inquiry=inquiry, person=person).delete()
    if count:
        record_act(Act.CLAIM_RELEASED, Actor.from_person(person), _make_place(inquiry))
    return bool(count)


@transaction.atomic
def release_all(person: Person) -> None:
    """End the claims of a person who signs out, as if they lapsed now.

    The rows stay for ``delete_ended``, whose caller tells the open pages.
    """
    current = QuestionClaim.objects.filter(person=person, until__gt=Now())
    for claim in current.select_related("inquiry"):
        record_act(Act.CLAIM_RELEASED, Actor.from_person(person), _make_place(claim.inquiry))
    current.update(until=Now())


def delete_ended() -> set[int]:
    """Delete claims that have ended; return the workspaces of their questions.

    Ended is a claim that lapsed, whose question is closed, or whose person may not answer it.
    """
    responders = Membership.objects.filter(
        person_id=OuterRef("person_id"),
        workspace_id=OuterRef("inquiry__workspace_id"),
        role__gte=Role.RESPONDER,
        person__is_active=True,
    )
    is_open = Q(inquiry__state=OPEN_STATE, inquiry__run__state__in=UNFINISHED_STATES)
    current = QuestionClaim.objects.filter(is_open, Exists(responders), until__gt=Now())
    ended = QuestionClaim.objects.exclude(pk__in=current.values("pk"))
    rows = list(ended.values_list("pk", "inquiry__workspace_id"))
    if rows:
        QuestionClaim.objects.filter(pk__in=[key for key, _ in rows]).delete()
    return {workspace_id for _, workspace_id in rows}


def _make_place(inquiry: Inquiry) -> Place:
    return Place(inquiry.workspace_id, inquiry.conversation_id, f"inquiry:{inquiry.pk}")

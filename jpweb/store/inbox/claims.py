"""Claims: the person who is on an open question or approval. A claim keeps nobody from answering.

It lapses by the database's clock, so that a closed browser leaves none behind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from jpweb.store.choices import UNFINISHED_STATES, Act, ApprovalState, Role
from jpweb.store.database import clock
from jpweb.store.inbox import queue
from jpweb.store.inquiries import OPEN_STATE, list_open
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import Approval, ApprovalClaim, Inquiry, Membership, QuestionClaim
from jpweb.store.sql.compiled_query import CompiledQuery

if TYPE_CHECKING:
    from jpweb.store.models import Person

#: Seconds after which a claim lapses.
CLAIM_SECONDS = 10 * 60

#: The ORM takes 0.4 ms longer for each of these, which pages with cards run.
_question_claims_query = CompiledQuery(
    lambda inquiry_ids: QuestionClaim.objects.filter(
        inquiry_id__in=inquiry_ids, until__gt=Now()
    ).select_related("person")
)
_approval_claims_query = CompiledQuery(
    lambda approval_ids: ApprovalClaim.objects.filter(
        approval_id__in=approval_ids, until__gt=Now()
    ).select_related("person")
)


class _ClaimKind(NamedTuple):
    """The claims of questions, or those of approvals."""

    model: type[QuestionClaim | ApprovalClaim]
    #: Field of the claim that leads to its row, also the word of the row in the ledger.
    field: str
    open_state: str
    claimed: Act
    released: Act


_QUESTIONS = _ClaimKind(
    QuestionClaim, "inquiry", OPEN_STATE, Act.QUESTION_CLAIMED, Act.CLAIM_RELEASED
)
_APPROVALS = _ClaimKind(
    ApprovalClaim,
    "approval",
    ApprovalState.OPEN,
    Act.APPROVAL_CLAIMED,
    Act.APPROVAL_CLAIM_RELEASED,
)


def list_claims(inquiry_ids: Collection[int]) -> dict[int, QuestionClaim]:
    """Return the claims of questions that have not lapsed, with their people; one query."""
    rows: list[QuestionClaim] = _question_claims_query(sorted(inquiry_ids)) if inquiry_ids else []
    return {row.inquiry_id: row for row in rows}


def list_approval_claims(approval_ids: Collection[int]) -> dict[int, ApprovalClaim]:
    """Return the claims of approvals that have not lapsed, with their people; one query."""
    rows: list[ApprovalClaim] = _approval_claims_query(sorted(approval_ids)) if approval_ids else []
    return {row.approval_id: row for row in rows}


def attach_claims(rows: Iterable[Inquiry | Approval]) -> None:
    """Set ``claim`` of each question and approval: its claim, or None."""
    items: list[Any] = list(rows)
    question_claims = list_claims({row.pk for row in items if isinstance(row, Inquiry)})
    approval_claims = list_approval_claims({row.pk for row in items if isinstance(row, Approval)})
    for row in items:
        claims = question_claims if isinstance(row, Inquiry) else approval_claims
        row.claim = claims.get(row.pk)


def claim_question(inquiry: Inquiry, person: Person) -> bool:
    """Claim an open question for a person who may answer it; tell whether they hold it now."""
    return list_open(person.pk).filter(pk=inquiry.pk).exists() and _claim(
        _QUESTIONS, inquiry, person
    )


def claim_approval(approval: Approval, person: Person) -> bool:
    """Claim an open approval for a person who may decide it; tell whether they hold it now."""
    open_rows = queue.filter_open_approvals(person.pk).filter(pk=approval.pk)
    return open_rows.exists() and _claim(_APPROVALS, approval, person)


def _claim(kind: _ClaimKind, row: Inquiry | Approval, person: Person) -> bool:
    """Claim an open row; of two people who claim at once, one inserts the claim."""
    current_time = clock.now()
    claims = kind.model.objects.filter(**{kind.field: row})
    claims.filter(until__lte=Now()).delete()
    try:
        with transaction.atomic():
            until = current_time + timedelta(seconds=CLAIM_SECONDS)
            kind.model.objects.create(
                **{kind.field: row}, person=person, claimed_at=current_time, until=until
            )
            record_act(
                kind.claimed, Actor.from_person(person), _make_place(kind, row),
                until=until.isoformat(),
            )  # fmt: skip
    except IntegrityError:
        return claims.filter(person=person).exists()
    return True


@transaction.atomic
def release_claim(row: Inquiry | Approval, person: Person) -> bool:
    """End the claim of a person on a question or an approval; tell whether they had it."""
    kind = _QUESTIONS if isinstance(row, Inquiry) else _APPROVALS
    count, _ = kind.model.objects.filter(**{kind.field: row}, person=person).delete()
    if count:
        record_act(kind.released, Actor.from_person(person), _make_place(kind, row))
    return bool(count)


@transaction.atomic
def release_all(person: Person, actor: Actor | None = None) -> None:
    """End the claims of a person who signs out, as if they lapsed now.

    ``actor`` is who ends those of another person. The rows stay for ``delete_ended``, whose caller
    tells the open pages.
    """
    details = {"person": person.display_name} if actor else {}
    for kind in (_QUESTIONS, _APPROVALS):
        current_claims = kind.model.objects.filter(person=person, until__gt=Now())
        for claim in current_claims.select_related(kind.field):
            place = _make_place(kind, getattr(claim, kind.field))
            record_act(kind.released, actor or Actor.from_person(person), place, **details)
        current_claims.update(until=Now())


def delete_ended() -> set[int]:
    """Delete claims that have ended; return the workspaces of their questions and approvals.

    Ended is a claim that lapsed, whose row is closed, or whose person may not answer it.
    """
    return _delete_ended(_QUESTIONS) | _delete_ended(_APPROVALS)


def _delete_ended(kind: _ClaimKind) -> set[int]:
    rows = _ENDED_QUERIES[kind]()
    if rows:
        kind.model.objects.filter(pk__in=[key for key, _ in rows]).delete()
    return {workspace_id for _, workspace_id in rows}


def _find_ended(kind: _ClaimKind) -> QuerySet[Any, Any]:
    responders = Membership.objects.filter(
        person_id=OuterRef("person_id"),
        workspace_id=OuterRef(f"{kind.field}__workspace_id"),
        role__gte=Role.RESPONDER,
        person__is_active=True,
    )
    is_open = Q(
        **{
            f"{kind.field}__state": kind.open_state,
            f"{kind.field}__run__state__in": UNFINISHED_STATES,
        }
    )
    current_claims: QuerySet[Any] = kind.model.objects.filter(
        is_open, Exists(responders), until__gt=Now()
    )
    ended_claims = kind.model.objects.exclude(pk__in=current_claims.values("pk"))
    return ended_claims.values_list("pk", f"{kind.field}__workspace_id")


#: The ORM takes 1.5 ms longer for each of these, every two seconds.
_ENDED_QUERIES = {
    kind: CompiledQuery(partial(_find_ended, kind)) for kind in (_QUESTIONS, _APPROVALS)
}


def _make_place(kind: _ClaimKind, row: Inquiry | Approval) -> Place:
    return Place(row.workspace_id, row.conversation_id, f"{kind.field}:{row.pk}")

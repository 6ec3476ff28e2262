"""Links with which one person settles one question once, without signing in.

A link is found by the hash of its token; the token itself is nowhere but in the notice.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

from jpweb.store import accounts
from jpweb.store.database import clock
from jpweb.store.errors import BadLink
from jpweb.store.inquiries import OPEN
from jpweb.store.models import AnswerLink, Inquiry, Person
from jpweb.store.terms import UNFINISHED, Role

LIFE = timedelta(days=7)


class Standing(Enum):
    """What a link is still good for.

    ``LIVE``: it settles its question; ``SETTLED``: that has been settled; ``OVER``: its run has
    ended without that; ``BARRED``: the person may no longer answer there.
    """

    LIVE = "live"
    SETTLED = "settled"
    OVER = "over"
    BARRED = "barred"


@dataclass(frozen=True, slots=True)
class Link:
    """A link as it stands now; ``reads``: its person may read the conversation."""

    key: int
    inquiry: Inquiry
    person: Person
    standing: Standing
    reads: bool


def issue(inquiry_id: int, person_id: int) -> str:
    """Return the token of a new link."""
    token = secrets.token_urlsafe(32)
    AnswerLink.objects.create(
        inquiry_id=inquiry_id,
        person_id=person_id,
        token_hash=_hash(token),
        expires_at=clock.now() + LIFE,
    )
    return token


def find(token: str) -> Link:
    """Return a link; looking uses nothing up.

    Raises BadLink, in the same words for one that never was, is too old, or whose person is gone.
    """
    found = AnswerLink.objects.filter(
        token_hash=_hash(token), expires_at__gt=clock.now(), person__is_active=True
    )
    related = ("person", "inquiry__conversation__workspace", "inquiry__run", "inquiry__decider")
    row = found.select_related(*related).first()
    if row is None:
        raise BadLink("This link has expired or is incomplete. Links are valid for seven days.")
    inquiry = row.inquiry
    role = accounts.role_in(row.person_id, inquiry.conversation.workspace_id)
    return Link(row.pk, inquiry, row.person, _standing(row, role), role is not None)


def use(link_id: int) -> None:
    """Note that a link has settled its question: it settles nothing more."""
    AnswerLink.objects.filter(pk=link_id, used_at=None).update(used_at=clock.now())


def _standing(row: AnswerLink, role: Role | None) -> Standing:
    if row.inquiry.state != OPEN:
        return Standing.SETTLED
    if role is None or role < Role.RESPONDER:
        return Standing.BARRED
    run = row.inquiry.run
    if row.used_at is not None or run is None or run.state not in UNFINISHED:
        return Standing.OVER
    return Standing.LIVE


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()

"""Answer links: one person settles one question once, without signing in.

A link is found by the hash of its token; the token itself is only in the notification.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

from jpweb.store import accounts
from jpweb.store.choices import UNFINISHED_STATES, Role
from jpweb.store.database import clock
from jpweb.store.errors import InvalidLink
from jpweb.store.inquiries import OPEN_STATE
from jpweb.store.models import AnswerLink, Inquiry, Person
from jpweb.store.people.token_hashes import hash_token

LINK_LIFETIME = timedelta(days=7)


class LinkStatus(Enum):
    """The status of an answer link.

    ``LIVE``: it settles its question; ``SETTLED``: another answer did; ``CLOSED``: its run
    has ended without an answer; ``BARRED``: the person may no longer answer there.
    """

    LIVE = "live"
    SETTLED = "settled"
    CLOSED = "closed"
    BARRED = "barred"


@dataclass(frozen=True, slots=True)
class ResolvedLink:
    """A link with its present status; ``can_read``: its person may read the conversation."""

    key: int
    inquiry: Inquiry
    person: Person
    status: LinkStatus
    can_read: bool


def issue_link(inquiry_id: int, person_id: int) -> str:
    """Return the token of a new link."""
    token = secrets.token_urlsafe(32)
    AnswerLink.objects.create(
        inquiry_id=inquiry_id,
        person_id=person_id,
        token_hash=hash_token(token),
        expires_at=clock.now() + LINK_LIFETIME,
    )
    return token


def resolve_link(token: str) -> ResolvedLink:
    """Return a link by its token; this does not use the link.

    Raises InvalidLink, with one message for an unknown and an expired token and an inactive
    person.
    """
    links = AnswerLink.objects.filter(
        token_hash=hash_token(token), expires_at__gt=clock.now(), person__is_active=True
    )
    related_names = (
        "person",
        "inquiry__conversation__workspace",
        "inquiry__run",
        "inquiry__decider",
    )
    row = links.select_related(*related_names).first()
    if row is None:
        raise InvalidLink("This link has expired or is incomplete. Links are valid for seven days.")
    inquiry = row.inquiry
    role = accounts.get_role(row.person_id, inquiry.conversation.workspace_id)
    return ResolvedLink(row.pk, inquiry, row.person, _get_status(row, role), role is not None)


def mark_used(link_id: int) -> None:
    """Mark a link as used: it settles nothing more."""
    AnswerLink.objects.filter(pk=link_id, used_at=None).update(used_at=clock.now())


def _get_status(row: AnswerLink, role: Role | None) -> LinkStatus:
    if row.inquiry.state != OPEN_STATE:
        return LinkStatus.SETTLED
    if role is None or role < Role.RESPONDER:
        return LinkStatus.BARRED
    run = row.inquiry.run
    if row.used_at is not None or run is None or run.state not in UNFINISHED_STATES:
        return LinkStatus.CLOSED
    return LinkStatus.LIVE

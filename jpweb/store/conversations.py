"""Conversations: list, fetch, begin."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from jpweb.store import inquiries
from jpweb.store.disk import workspace
from jpweb.store.errors import UnknownConversation
from jpweb.store.models import Conversation, Membership, Workspace
from jpweb.store.terms import Origin

PAGE = 100
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: What a database tells apart; a float is too coarse for years far away.
_UNIT = timedelta(microseconds=1)
_SPELLING = re.compile(r"(?:jp-c)?(?P<id>\d{1,20})(?:-(?P<workspace>[0-9a-z~]+))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Listed:
    """A conversation with its inquiries by state, in the order of ``inquiries.STATES``."""

    conversation: Conversation
    inquiries: dict[str, int]

    @property
    def asked(self) -> int:
        """How many inquiries there are."""
        return sum(self.inquiries.values())


@dataclass(frozen=True, slots=True)
class Page:
    """A part of the list; ``before`` is the key of the part that follows, or empty."""

    rows: list[Listed]
    before: str


def page(person_id: int, *, words: str = "", archived: bool = False, before: str = "") -> Page:
    """Return the conversations a person may read: pinned first, then the newest.

    ``words`` must all occur in the title. ``before`` continues after a row, by key.
    """
    found = _visible(person_id).filter(archived=archived)
    for word in words.replace("\x00", " ").split():  # which PostgreSQL refuses
        found = found.filter(title__icontains=word)
    pinned = Q(pinned_at__isnull=False)
    marker = _marker(before)
    rows = list(found.filter(pinned).order_by("-pinned_at", "-id")) if marker is None else []
    rest = found.exclude(pinned).order_by("-last_activity", "-id")
    if marker is not None:
        moment, key = marker
        rest = rest.filter(last_activity__lte=moment).exclude(last_activity=moment, id__gte=key)
    newest = list(rest[: PAGE + 1])
    more = newest[PAGE - 1] if len(newest) > PAGE else None
    rows += newest[:PAGE]
    by_state = inquiries.counts(row.pk for row in rows)
    listed = [
        Listed(row, {s: by_state[row.pk][s] for s in inquiries.STATES if s in by_state[row.pk]})
        if row.pk in by_state
        else Listed(row, {})
        for row in rows
    ]
    return Page(listed, f"{(more.last_activity - _EPOCH) // _UNIT}_{more.pk}" if more else "")


def get(conversation_id: int) -> Conversation:
    """Return a conversation with its workspace. Raises UnknownConversation."""
    found = Conversation.objects.select_related("workspace").filter(pk=conversation_id).first()
    if found is None:
        raise UnknownConversation("There is no such conversation.")
    return found


def by_jp_id(spelling: str) -> Conversation:
    """Return the conversation that JP calls so: ``17…``, ``jp-c17…`` or ``jp-c17…-<workspace>``.

    Raises UnknownConversation for a spelling that is none, and where it names none or several.
    """
    known = _SPELLING.fullmatch(spelling.strip())
    if known is None or int(known["id"]) >= 2**63:
        raise UnknownConversation(
            f"“{spelling}” is no id of a conversation, such as jp-c17728322628."
        )
    found = Conversation.objects.select_related("workspace").filter(jp_id=int(known["id"]))
    if known["workspace"]:
        found = found.filter(workspace__jp_id=known["workspace"])
    rows = list(found[:2])
    if not rows:
        raise UnknownConversation(f"No conversation here has the id {spelling}.")
    if len(rows) > 1:
        names = ", ".join(f"{row.workspace.name} ({row.workspace.jp_id})" for row in found)
        raise UnknownConversation(
            f"Several workspaces have {spelling}: {names}. Add the id of the workspace: "
            f"jp-c{known['id']}-{rows[0].workspace.jp_id}"
        )
    return rows[0]


def begin(home: Workspace, title: str, person_id: int) -> Conversation:
    """Make a native conversation; its id is this instant in JP's deciseconds, or the next free."""
    now = timezone.now()
    jp_id = workspace.jp_id_at(now)
    while True:
        try:
            with transaction.atomic():
                return Conversation.objects.create(
                    workspace=home,
                    jp_id=jp_id,
                    origin=Origin.NATIVE,
                    title=title[:500],
                    last_activity=now,
                    started_by_id=person_id,
                )
        except IntegrityError:
            jp_id += 1


def _visible(person_id: int) -> QuerySet[Conversation]:
    workspaces = Membership.objects.filter(person_id=person_id).values("workspace_id")
    return Conversation.objects.filter(workspace__in=workspaces).select_related("workspace")


def _marker(before: str) -> tuple[datetime, int] | None:
    moment, _, key = before.partition("_")
    try:
        return _EPOCH + int(moment) * _UNIT, int(key)
    except (ValueError, OverflowError):
        return None


def gone(workspace_id: int) -> list[int]:
    """Return the keys of the conversations of a workspace that ``jp`` removed."""
    removed = Conversation.objects.filter(workspace_id=workspace_id, gone_at__isnull=False)
    return list(removed.values_list("pk", flat=True))

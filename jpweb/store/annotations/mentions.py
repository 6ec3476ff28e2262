"""Mentions: people whom comments name by ``@name``, and those that a person has not seen."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from django.db.models import Exists, OuterRef, QuerySet

from jpweb.store.annotations import thread_listing
from jpweb.store.database import clock, timeouts
from jpweb.store.models import Comment, Membership, Mention, Person

#: People whom one comment can mention; further names are text.
MAX_MENTIONS = 20
#: Rows of the page *Mentions*.
MAX_LISTED = 100
#: Names below a form, as a hint.
MAX_HINTS = 30
#: A name of up to four words, the first of which is at once behind the “@”.
_NAME = re.compile(r"(?<![\w.@+/-])@([\w.@+-]{1,150}(?: (?!@)[\w.@+-]{1,150}){0,3})")


class ShownMention(NamedTuple):
    """A mention, and the text of its comment as pages show it."""

    mention: Mention
    text: str


def find_names(text: str) -> list[tuple[str, ...]]:
    """Return for each mention in a text, each once, the names that it may mean, longest first.

    A sentence's dot belongs to none.
    """
    mentions = dict.fromkeys(_split_name(words) for words in _NAME.findall(text))
    return [names for names in mentions if names][:MAX_MENTIONS]


def _split_name(text: str) -> tuple[str, ...]:
    words = text.split(" ")
    names = (" ".join(words[:count]).rstrip(".-+@") for count in range(len(words), 0, -1))
    return tuple(name for name in names if name)


def list_member_names(workspace_id: int) -> list[str]:
    """Return the names by which people can be mentioned in a workspace, in their order.

    It is the account's where the name that pages show has characters that no mention has.
    """
    rows = Person.objects.filter(memberships__workspace_id=workspace_id, is_active=True)
    members = rows.order_by("username")[:MAX_HINTS]
    return [
        member.display_name if _can_mention(member.display_name) else member.username
        for member in members
    ]


def _can_mention(name: str) -> bool:
    return any(name == names[0] for names in find_names(f"@{name}"))


def update_mentions(comment: Comment, workspace_id: int) -> None:
    """Make a comment's mentions those of its text: of members, but not of its author."""
    ids = _find_members(find_names(comment.text), workspace_id) - {comment.author_id}
    previous_ids = set(list_mentioned(comment.pk))
    Mention.objects.filter(comment=comment, person_id__in=previous_ids - ids).delete()
    for person_id in sorted(ids - previous_ids):
        Mention.objects.create(comment=comment, person_id=person_id)
    count_unseen(ids ^ previous_ids)


def _find_members(mentions: list[tuple[str, ...]], workspace_id: int) -> set[int]:
    """Return the keys of the members whose account or shown name is the longest of a mention."""
    if not mentions:
        return set()
    # Compared here: SQLite's ``iexact`` takes "É" and "é" for different letters.
    members = Person.objects.filter(is_active=True, memberships__workspace_id=workspace_id)
    ids_by_name: dict[str, set[int]] = {}
    for key, *member_names in members.values_list("pk", "username", "first_name"):
        for name in member_names:
            ids_by_name.setdefault(name.casefold(), set()).add(key)
    ids_of_mentions = (
        next((ids_by_name[name.casefold()] for name in names if name.casefold() in ids_by_name), ())
        for names in mentions
    )
    return set().union(*ids_of_mentions)


def list_mentioned(comment_id: int) -> list[int]:
    """Return the keys of the people whom a comment mentions."""
    rows = Mention.objects.filter(comment_id=comment_id)
    return list(rows.values_list("person_id", flat=True))


def count_unseen(person_ids: Iterable[int]) -> None:
    """Store for each of these people how many mentions they have not seen, where they may read.

    In the order of their keys, so that two transactions cannot wait for each other's rows.
    """
    for person_id in sorted(person_ids):
        count = _filter_readable(person_id).filter(seen_at=None).count()
        Person.objects.filter(pk=person_id).update(unseen_mention_count=count)


def list_mentions(person_id: int) -> list[ShownMention]:
    """Return the latest mentions of a person where they may read, the newest first."""
    rows = _filter_readable(person_id).select_related("comment__thread__conversation__workspace")
    page = list(rows.order_by("-id")[:MAX_LISTED])
    comments = thread_listing.mask_comments([row.comment for row in page])
    return [ShownMention(row, comment.text) for row, comment in zip(page, comments, strict=True)]


def mark_seen(person_id: int, newest_id: int) -> None:
    """Record that a person has seen their mentions up to this one, and not later ones."""
    rows = Mention.objects.filter(person_id=person_id, seen_at=None, pk__lte=newest_id)
    rows.update(seen_at=clock.now())
    count_unseen([person_id])


def mark_threads_seen(person: Person, conversation_id: int, anchors: Collection[str]) -> None:
    """Record that a person has seen the mentions of them in the comments on these events.

    No query for a person who has seen all of theirs. It is skipped where the rows or the database
    are locked, so that no page waits.
    """
    if not person.unseen_mention_count or not anchors:
        return
    rows = Mention.objects.filter(
        person=person,
        seen_at=None,
        comment__thread__conversation_id=conversation_id,
        comment__thread__anchor__in=anchors,
    )

    def mark_rows() -> bool:
        has_seen = bool(rows.update(seen_at=clock.now()))
        if has_seen:
            count_unseen([person.pk])
        return has_seen

    if timeouts.change_briefly(mark_rows):
        person.refresh_from_db(fields=["unseen_mention_count"])


def _filter_readable(person_id: int) -> QuerySet[Mention]:
    memberships = Membership.objects.filter(
        person_id=person_id,
        workspace_id=OuterRef("comment__thread__conversation__workspace_id"),
    )
    return Mention.objects.filter(Exists(memberships), person_id=person_id)

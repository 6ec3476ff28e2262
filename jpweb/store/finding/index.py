"""Keeps passages as their conversations are. It follows the journal, and never holds it up.

Whoever changes a conversation sets ``unindexed``; this takes such conversations, the newest first,
and writes a part at a time, each in a transaction of its own. What was written is compared with
what should be there, so wherever it was killed it goes on, and what is the same keeps its key.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import Q

from jpweb.store.disk import workspace
from jpweb.store.finding import keys, passages, tags, words
from jpweb.store.inquiries import OPEN
from jpweb.store.models import Conversation, Inquiry, JournalEntry, Membership, Passage
from jpweb.store.outage import BROKEN_ROWS
from jpweb.store.rows import many
from jpweb.stream import wire
from jpweb.stream.answers import Secret
from jpweb.stream.events import ToolCallRequest, ToolCallResponse

logger = logging.getLogger(__name__)

#: Entries, and characters of them, that are written in one transaction.
ENTRIES = 500
CHARACTERS = 2_000_000
#: Parts of a conversation after which another one, changed since, may come first.
STRETCH = 20
#: Conversations that are counted where many wait.
MOST = 1000

#: What makes a passage another one. Its key and instant stay what they were at first.
_SAME = (
    "position", "part", "head", "anchor", "facet", "body", "tags", "tool", "who", "state", "reason",
)  # fmt: skip


class _Changed(Exception):
    """The conversation is not what it was when this began; it is looked at again."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A conversation as it was when this step began, and the first entry that it is to index."""

    key: int
    length: int
    revision: int
    title: str
    labels: Any
    begin: int


def waiting(person_id: int) -> int:
    """Return how many conversations that a person may read have yet to be indexed.

    At most ``MOST`` are counted.
    """
    mine = Membership.objects.filter(person_id=person_id).values("workspace_id")
    found = Conversation.objects.filter(unindexed=True, workspace__in=mine)
    return len(found.order_by().values_list("pk", flat=True)[:MOST])


def left() -> int:
    """Return how many conversations of all have yet to be indexed."""
    return Conversation.objects.filter(unindexed=True).count()


def step() -> int | None:
    """Bring a stretch of the newest conversation that changed up to date.

    Returns its key, or None where all are.
    """
    found = Conversation.objects.filter(unindexed=True).order_by("-last_activity", "-id")
    key = found.values_list("pk", flat=True).first()
    if key is None:
        return None
    try:
        bring_up_to_date(key)
    except (_Changed, IntegrityError) as again:
        # It was changed, or somebody else indexes it: what is left is seen at the next look.
        logger.info("conversation %s is indexed again: %r", key, again)
    except BROKEN_ROWS as refused:
        # The others go on; this one is tried again when it changes.
        logger.error("conversation %s cannot be indexed: %r", key, refused)  # noqa: TRY400  the row would stand in its traceback
        Conversation.objects.filter(pk=key).update(unindexed=False)
    return key


def forget(conversation_id: int) -> None:
    """Let a conversation be indexed anew, from nothing."""
    with transaction.atomic():
        Passage.objects.filter(conversation_id=conversation_id).delete()
        Conversation.objects.filter(pk=conversation_id).update(
            unindexed=True, indexed_length=0, indexed_revision=0
        )


def every() -> Iterator[int]:
    """Yield the keys of all conversations."""
    yield from Conversation.objects.order_by("pk").values_list("pk", flat=True).iterator()


def bring_up_to_date(key: int) -> None:
    """Index what is new of a conversation, or a stretch of it. Raises where it is changed."""
    seen, common = _begin(key)
    begin = seen.begin
    for _ in range(STRETCH):
        entries = _entries(key, Q(position__gte=begin))
        if not entries:
            _settle(seen, common)
            _finish(seen)
            return
        end = entries[-1].position + 1
        made = _made(key, entries, common)
        with transaction.atomic():
            _put(key, Q(position__gte=begin, position__lt=end), made)
            _move(seen, begin, end)
        begin = end


def _begin(key: int) -> tuple[_Seen, passages.Common]:
    """Return where to begin: at the first new entry, or at the first of all.

    All is looked at again where entries were replaced, or labels changed: every passage has them.
    """
    with transaction.atomic():
        row = Conversation.objects.select_for_update().filter(pk=key).first()
        if row is None:
            raise _Changed
        own = tags.workspace(row.workspace_id)
        common = passages.Common(
            workspace.created_at(row.jp_id), frozenset({own, *tags.of_labels(row.labels)})
        )
        if row.indexed_revision != row.revision or common.tags != _known_tags(key, own):
            row.indexed_length = 0
            row.indexed_revision = row.revision
            row.save(update_fields=["indexed_length", "indexed_revision"])
        _put(key, Q(position=Passage.TITLE), passages.title(row.title, row.labels, common))
    seen = _Seen(key, row.length, row.revision, row.title, row.labels, row.indexed_length)
    return seen, common


def _known_tags(key: int, own: str) -> set[str]:
    """Return the tags that all passages of a conversation have, as its title tells."""
    title = Passage.objects.filter(conversation_id=key, position=Passage.TITLE)
    known = title.values_list("tags", flat=True).first()
    return {own} if known is None else {*known.split()} - {tags.facet("title")}


def _entries(key: int, where: Q) -> list[passages.Entry]:
    """Return the entries of one transaction, in order."""
    rows = JournalEntry.objects.filter(where, conversation_id=key).order_by("position")
    columns = rows.values_list("position", "head", "anchor", "text")
    read: list[passages.Entry] = []
    room = CHARACTERS
    for position, head, anchor, text in columns[:ENTRIES].iterator(chunk_size=100):
        read.append(passages.Entry(position, head, anchor, wire.read(text)))
        room -= len(text)
        if room < 0:
            break
    return read


def _made(
    key: int, entries: Sequence[passages.Entry], common: passages.Common
) -> list[passages.Passage]:
    """Return the passages of these entries."""
    around = passages.Around(
        _tools(key, entries), *_inquiries(key, [entry.position for entry in entries])
    )
    return [each for entry in entries for each in passages.made(entry, common, around)]


def _tools(key: int, entries: Sequence[passages.Entry]) -> dict[int, str]:
    """Return the names of the tools that these entries call, or are results of, by position."""
    found = {each.position: each.element for each in entries}
    returned = {each.head for each in entries if isinstance(each.element.kind, ToolCallResponse)}
    earlier = JournalEntry.objects.filter(conversation_id=key, position__in=returned - found.keys())
    for position, text in earlier.values_list("position", "text"):
        found[position] = wire.read(text)
    return {
        position: element.kind.name
        for position, element in found.items()
        if isinstance(element.kind, ToolCallRequest)
    }


def _inquiries(
    key: int, positions: Sequence[int]
) -> tuple[dict[int, passages.Asked], dict[int, passages.Asked]]:
    """Return the inquiries that are asked and that end at these positions."""
    first, last = positions[0], positions[-1]
    own = Inquiry.objects.filter(conversation_id=key)
    rows = own.filter(Q(position__range=(first, last)) | Q(response_position__range=(first, last)))
    secrets = set(own.filter(answer_type=Secret.TAG).values_list("inquiry_id", flat=True))
    asked, ended = {}, {}
    for row in rows.defer("question", "answer"):
        each = passages.Asked(
            tool=row.asker,
            state=row.state,
            reason=row.reason,
            who=row.decider_name if row.decided_by == "person" else "",
            secret=row.inquiry_id in secrets,
        )
        asked[row.position] = each
        if row.response_position is not None:
            ended[row.response_position] = each
    return asked, ended


def _settle(seen: _Seen, common: passages.Common) -> None:
    """Write the questions anew that were indexed before their outcome came."""
    own = Inquiry.objects.filter(conversation_id=seen.key, position__lt=seen.begin)
    late = own.filter(response_position__gte=seen.begin)
    shown_open = Passage.objects.filter(conversation_id=seen.key, state=OPEN)
    over = own.filter(position__in=shown_open.values("position")).exclude(state=OPEN)
    changed = {*late.values_list("position", flat=True), *over.values_list("position", flat=True)}
    left = sorted(changed)
    while left:
        entries = _entries(seen.key, Q(position__in=left[:ENTRIES]))
        if not entries:
            return
        made = _made(seen.key, entries, common)
        with transaction.atomic():
            _put(seen.key, Q(position__in=[each.position for each in entries]), made)
        left = [position for position in left if position > entries[-1].position]


def _finish(seen: _Seen) -> None:
    """Say that all is indexed, where nothing changed meanwhile."""
    with transaction.atomic():
        row = Conversation.objects.select_for_update().filter(pk=seen.key).first()
        now = row and (row.length, row.revision, row.title, row.labels)
        if row is None or now != (seen.length, seen.revision, seen.title, seen.labels):
            raise _Changed
        _put(seen.key, Q(position__gte=seen.length), [])
        row.unindexed = False
        row.save(update_fields=["unindexed"])


def _move(seen: _Seen, begin: int, end: int) -> None:
    """Put on record how far a conversation is indexed."""
    same = Conversation.objects.filter(
        pk=seen.key, revision=seen.revision, indexed_revision=seen.revision, indexed_length=begin
    )
    if not same.update(indexed_length=end):
        raise _Changed


def _put(key: int, where: Q, made: Sequence[passages.Passage]) -> None:
    """Let these passages of a conversation be those made; what is the same stays untouched."""
    there = Passage.objects.filter(where, conversation_id=key)
    known = {
        (row[2], row[3]): (row[0], row[1], row[2:])
        for row in there.values_list("id", "at", *_SAME).iterator()
    }
    wanted = {(each.position, each.part): each for each in made}
    gone = []
    rows: list[tuple[int, passages.Passage]] = []
    for place, (own, at, said) in known.items():
        kept = wanted.pop(place, None)
        if kept is not None and _same(kept) == said:
            continue
        gone.append(own)
        if kept is not None:
            rows.append((own, replace(kept, at=at)))
    new = [*wanted.values()]
    allotted = keys.allot([keys.Place(e.at, key, e.position, e.part) for e in new], _taken)
    rows += zip(allotted, new, strict=True)
    for begin in range(0, len(gone), ENTRIES):
        Passage.objects.filter(pk__in=gone[begin : begin + ENTRIES]).delete()
    _insert(key, sorted(rows, key=itemgetter(0)))


def _same(passage: passages.Passage) -> tuple[Any, ...]:
    return tuple(getattr(passage, name) for name in _SAME)


def _taken(wanted: list[int]) -> set[int]:
    taken: set[int] = set()
    for begin in range(0, len(wanted), ENTRIES):
        some = Passage.objects.filter(pk__in=wanted[begin : begin + ENTRIES])
        taken.update(some.values_list("pk", flat=True))
    return taken


def _insert(key: int, rows: Sequence[tuple[int, passages.Passage]]) -> None:
    """Insert passages, the lowest keys first: SQLite's index takes others one at a time."""
    moment = many.moments()
    columns: tuple[str, ...] = ("id", "conversation_id", "at", *_SAME)
    made: list[tuple[Any, ...]] = [(own, key, moment(each.at), *_same(each)) for own, each in rows]
    if connection.vendor == "postgresql":
        columns = (*columns, "lexemes")
        made = [
            (*row, words.vector(each.body, each.tags))
            for row, (_, each) in zip(made, rows, strict=True)
        ]
    many.insert(Passage.TABLE, columns, made)

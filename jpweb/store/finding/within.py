"""Finding in one conversation: every event that holds what was typed, in order, and how many.

Here a word is looked for anywhere, also inside other words; ``search`` looks for whole ones.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Collate, Lower, StrIndex
from django.db.models.lookups import GreaterThan

from jpweb.store import plain
from jpweb.store.finding.snippets import Piece, snippet
from jpweb.store.models import Conversation, Passage

#: Events that are counted; where there are more, that is said.
MOST = 1000
#: Characters of what is looked for, and pieces that it may consist of.
LONGEST = 200
TERMS = 8
_TERM = re.compile(r'"([^"]*)"?|(\S+)')


@dataclass(frozen=True, slots=True)
class Hit:
    """An event that holds what was looked for.

    ``number`` counts them from 1, and is 0 for one that lies beyond what is counted.
    """

    position: int
    head: int
    anchor: str
    facet: str
    snippet: tuple[Piece, ...]
    number: int


@dataclass(frozen=True, slots=True)
class Found:
    """A part of the hits in order, and how many there are at all.

    ``total`` is at most ``MOST``; ``more`` tells that there are more. ``behind`` is how many
    events of the conversation have yet to be indexed, and so are not found.
    """

    hits: list[Hit]
    total: int
    more: bool
    behind: int


def terms(words: str) -> tuple[str, ...]:
    """Return what an event has to hold: each word, and each phrase in double quotes as it stands.

    What a search knows beside words is left out: a ``*`` at the end, and a word after ``-``.
    """
    found = []
    for phrase, word in _TERM.findall(plain.text(words)[:LONGEST]):
        if word.startswith("-") and len(word) > 1:
            continue
        term = phrase.strip() or word.rstrip("*").strip('"')
        if term:
            found.append(term)
    return tuple(dict.fromkeys(found[:TERMS]))


def within(conversation_id: int, words: str, *, after: int = -1, limit: int = 50) -> Found:
    """Return the events at positions above ``after`` that hold every term of ``words``.

    Letters count the same in either case. Nothing to look for finds nothing.
    """
    looked = terms(words)
    positions = _positions(conversation_id, looked)
    more = len(positions) > MOST
    counted = positions[:MOST]
    begin = bisect_left(counted, after + 1)
    wanted = counted[begin : begin + limit]
    hits = _hits(conversation_id, looked, wanted, begin + 1)
    return Found(hits, len(counted), more, _behind(conversation_id))


def following(conversation_id: int, words: str, position: int) -> Hit | None:
    """Return the first hit after a position, or None."""
    looked = terms(words)
    found = _matching(conversation_id, looked).filter(position__gt=position).order_by("position")
    return _one(conversation_id, looked, found)


def preceding(conversation_id: int, words: str, position: int) -> Hit | None:
    """Return the last hit before a position, or None."""
    looked = terms(words)
    found = _matching(conversation_id, looked).filter(position__lt=position).order_by("-position")
    return _one(conversation_id, looked, found)


def spans(text: str, looked: Sequence[str]) -> list[tuple[int, int]]:
    """Return where the terms stand in a text, in order and apart, in either case."""
    if not looked:
        return []
    longest = sorted(looked, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest)), re.IGNORECASE)
    return [found.span() for found in pattern.finditer(text)]


def _matching(conversation_id: int, looked: Sequence[str]) -> QuerySet[Passage]:
    found = Passage.objects.filter(conversation_id=conversation_id, position__gte=0)
    if not looked:
        return found.none()
    for term in looked:
        found = found.filter(_holds(term))
    return found


def _holds(term: str) -> Q:
    """Return the condition that a body holds the term; databases fold the case of ASCII alone."""
    spellings = {term} if term.isascii() else {term, term.lower(), term.upper(), term.title()}
    condition = Q()
    for spelling in spellings:
        condition |= _has(spelling)
    return condition


def _has(spelling: str) -> Q:
    if connection.vendor != "postgresql":
        return Q(body__icontains=spelling)
    # In a third of LIKE's time where the locale is not C, and at once where the word is common.
    body, looked = (Lower(Collate(each, "C")) for each in (F("body"), Value(spelling)))
    return Q(GreaterThan(StrIndex(body, looked), 0))


def _positions(conversation_id: int, looked: Sequence[str]) -> list[int]:
    found = _matching(conversation_id, looked).order_by("position").distinct()
    return list(found.values_list("position", flat=True)[: MOST + 1])


def _one(conversation_id: int, looked: Sequence[str], found: QuerySet[Passage]) -> Hit | None:
    position = found.values_list("position", flat=True).first()
    if position is None:
        return None
    before = _matching(conversation_id, looked).filter(position__lt=position)
    earlier = before.order_by("position").distinct().values_list("position", flat=True)
    number = len(earlier[:MOST]) + 1
    (hit,) = _hits(conversation_id, looked, [position], number if number <= MOST else 0)
    return hit


def _hits(
    conversation_id: int, looked: Sequence[str], positions: Sequence[int], number: int
) -> list[Hit]:
    """Return the hits at these positions; the first one has this number, unless it is 0."""
    rows = _matching(conversation_id, looked).filter(position__in=positions)
    firsts: dict[int, Passage] = {}
    for row in rows.order_by("position", "part"):
        firsts.setdefault(row.position, row)
    return [
        Hit(
            position=row.position,
            head=row.head,
            anchor=row.anchor,
            facet=row.facet,
            snippet=snippet(row.body, spans(row.body, looked)),
            number=number and number + nth,
        )
        for nth, row in enumerate(firsts.values())
    ]


def _behind(conversation_id: int) -> int:
    columns = ("unindexed", "length", "indexed_length", "revision", "indexed_revision")
    row = Conversation.objects.filter(pk=conversation_id).values_list(*columns).first()
    if row is None or not row[0]:
        return 0
    length, known = int(row[1]), int(row[2])
    return length if row[3] != row[4] else max(length - known, 0)

"""Find in one conversation: the events that hold the typed terms, in order and counted.

A term also matches inside words; ``search.engine`` matches whole words.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Collate, Lower, StrIndex
from django.db.models.lookups import GreaterThan

from jpweb.store import db_text
from jpweb.store.models import Conversation, Passage
from jpweb.store.search.snippets import Fragment, make_snippet
from jpweb.store.sql.spellings import list_spellings

#: Matches counted at most; above it ``has_more`` is set.
COUNT_LIMIT = 1000
#: Characters of a query, and its terms; the rest is ignored.
MAX_QUERY_CHARS = 200
MAX_TERMS = 8
_TERM = re.compile(r'(-?)"([^"]*)"?|(\S+)')


@dataclass(frozen=True, slots=True)
class EventMatch:
    """An event that holds the terms.

    ``number`` counts from 1, and is 0 for one beyond the counted ones.
    """

    position: int
    item_position: int
    anchor: str
    category: str
    snippet: tuple[Fragment, ...]
    number: int


@dataclass(frozen=True, slots=True)
class ConversationMatches:
    """A page of matches in order, and the total number.

    ``total`` is at most ``COUNT_LIMIT``; ``has_more``: there are more. ``unindexed_events``
    of the conversation are not searched yet.
    """

    matches: list[EventMatch]
    total: int
    has_more: bool
    unindexed_events: int


def parse_terms(query_text: str) -> tuple[str, ...]:
    """Return the terms of a query: each word, and each phrase in double quotes.

    Other syntax of the search box is left out: a ``*`` at the end, and what follows a ``-``.
    """
    parsed_terms = []
    for minus, phrase, word in _TERM.findall(db_text.clean_text(query_text)[:MAX_QUERY_CHARS]):
        if minus or (word.startswith("-") and len(word) > 1):
            continue
        term = phrase.strip() or word.rstrip("*").strip('"')
        if term:
            parsed_terms.append(term)
    return tuple(dict.fromkeys(parsed_terms[:MAX_TERMS]))


def find_matches(
    conversation_id: int, query_text: str, *, after: int = -1, limit: int = 50
) -> ConversationMatches:
    """Return the events at positions above ``after`` that hold every term, case-insensitive.

    An empty query matches nothing.
    """
    search_terms = parse_terms(query_text)
    positions = _find_matching_positions(conversation_id, search_terms)
    has_more = len(positions) > COUNT_LIMIT
    counted_positions = positions[:COUNT_LIMIT]
    begin = bisect_left(counted_positions, after + 1)
    page_positions = counted_positions[begin : begin + limit]
    matches = _load_matches(conversation_id, search_terms, page_positions, begin + 1)
    return ConversationMatches(
        matches, len(counted_positions), has_more, _count_unindexed(conversation_id)
    )


def find_next(conversation_id: int, query_text: str, position: int) -> EventMatch | None:
    """Return the first match after a position, or None."""
    search_terms = parse_terms(query_text)
    passages = (
        _filter_matching(conversation_id, search_terms)
        .filter(position__gt=position)
        .order_by("position")
    )
    return _find_single_match(conversation_id, search_terms, passages)


def find_previous(conversation_id: int, query_text: str, position: int) -> EventMatch | None:
    """Return the last match before a position, or None."""
    search_terms = parse_terms(query_text)
    passages = (
        _filter_matching(conversation_id, search_terms)
        .filter(position__lt=position)
        .order_by("-position")
    )
    return _find_single_match(conversation_id, search_terms, passages)


def find_spans(text: str, search_terms: Sequence[str]) -> list[tuple[int, int]]:
    """Return the spans of the terms in a text, ordered and disjoint, case-insensitive."""
    if not search_terms:
        return []
    sorted_terms = sorted(search_terms, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, sorted_terms)), re.IGNORECASE)
    return [match.span() for match in pattern.finditer(text)]


def _filter_matching(conversation_id: int, search_terms: Sequence[str]) -> QuerySet[Passage]:
    """Return the passages with the first term, of events that hold every term."""
    passages = Passage.objects.filter(conversation_id=conversation_id, position__gte=0)
    if not search_terms:
        return passages.none()
    matching_passages = passages.filter(_match_term(search_terms[0]))
    for term in search_terms[1:]:
        same_event = passages.filter(_match_term(term), position=OuterRef("position"))
        matching_passages = matching_passages.filter(_match_term(term) | Q(Exists(same_event)))
    return matching_passages


def _match_term(term: str) -> Q:
    """Return the condition that a body holds the term; databases fold the case of ASCII only."""
    condition = Q()
    for spelling in list_spellings(term):
        condition |= _match_spelling(spelling)
    return condition


def _match_spelling(spelling: str) -> Q:
    if connection.vendor != "postgresql":
        return Q(body__icontains=spelling)
    # strpos under collation C takes a third of LIKE's time in a locale other than C, and returns
    # at the first match of a common word.
    folded_body, folded_term = (
        Lower(Collate(operand, "C")) for operand in (F("body"), Value(spelling))
    )
    return Q(GreaterThan(StrIndex(folded_body, folded_term), 0))


def _find_matching_positions(conversation_id: int, search_terms: Sequence[str]) -> list[int]:
    passages = _filter_matching(conversation_id, search_terms).order_by("position").distinct()
    return list(passages.values_list("position", flat=True)[: COUNT_LIMIT + 1])


def _find_single_match(
    conversation_id: int, search_terms: Sequence[str], passages: QuerySet[Passage]
) -> EventMatch | None:
    position = passages.values_list("position", flat=True).first()
    if position is None:
        return None
    preceding_passages = _filter_matching(conversation_id, search_terms).filter(
        position__lt=position
    )
    earlier_positions = (
        preceding_passages.order_by("position").distinct().values_list("position", flat=True)
    )
    number = len(earlier_positions[:COUNT_LIMIT]) + 1
    (match,) = _load_matches(
        conversation_id, search_terms, [position], number if number <= COUNT_LIMIT else 0
    )
    return match


def _load_matches(
    conversation_id: int, search_terms: Sequence[str], positions: Sequence[int], number: int
) -> list[EventMatch]:
    """Return the matches at these positions; the first one has this number, unless it is 0."""
    rows = _filter_matching(conversation_id, search_terms).filter(position__in=positions)
    first_passages: dict[int, Passage] = {}
    for row in rows.order_by("position", "part"):
        first_passages.setdefault(row.position, row)
    return [
        EventMatch(
            position=row.position,
            item_position=row.item_position,
            anchor=row.anchor,
            category=row.category,
            snippet=make_snippet(row.body, find_spans(row.body, search_terms)),
            number=number and number + nth,
        )
        for nth, row in enumerate(first_passages.values())
    ]


def _count_unindexed(conversation_id: int) -> int:
    columns = (
        "needs_indexing",
        "entry_count",
        "indexed_entry_count",
        "revision",
        "indexed_revision",
    )
    row = Conversation.objects.filter(pk=conversation_id).values_list(*columns).first()
    if row is None or not row[0]:
        return 0
    length, indexed_entry_count = int(row[1]), int(row[2])
    return length if row[3] != row[4] else max(length - indexed_entry_count, 0)

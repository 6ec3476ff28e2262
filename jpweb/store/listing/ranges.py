"""Rows of many workspaces in one order, at a cost that does not grow with what is there.

A query over several workspaces would sort all that they hold. Here each workspace is a range of an
index of its own, read from where the page begins and no further than the page needs; what comes of
it is merged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import BooleanField, Case, F, Q, QuerySet, Value, When

from jpweb.store.listing.keys import Key, instant

#: Workspaces that one statement reads; SQLite takes 500 parts.
_TOGETHER = 200
#: Up to so many workspaces, each is read as far as the page could need; of more, first a little.
_FEW, _LITTLE = 8, 20
#: Rows that are looked at for a condition that no index answers; of each workspace, no fewer than.
SCAN, _LEAST = 20_000, 100
#: Stands for the workspace in a statement that is made once for all of them.
_ANY = -987_654_321


@dataclass(frozen=True, slots=True)
class Range:
    """Rows of a table that an index has in order, a workspace at a time.

    ``rows`` hold what the index answers. ``wanted`` is what each row has to be looked at for.
    ``column`` orders them, then the key, both ``down`` or both up. Where rows of several tables
    make one order, a rank is a key times ``of`` plus ``nth``.
    """

    rows: QuerySet[Any]
    column: str
    down: bool
    wanted: Q | None = None
    conversation: str = "pk"
    nth: int = 0
    of: int = 1


class Place(NamedTuple):
    """A conversation, and where in the order it stands."""

    key: Key
    conversation_id: int
    workspace_id: int


@dataclass(frozen=True, slots=True)
class Found:
    """Places in order; ``horizon`` is how far was looked, where that is not to the end."""

    places: list[Place]
    horizon: Key | None = None


def nearest(
    ranges: Sequence[Range], workspaces: Sequence[int], start: Key | None, need: int, *, back: bool
) -> Found:
    """Return the ``need`` places that follow ``start``, or that precede it, the nearest first.

    All ranges have the same order. With a condition that no index answers, ``SCAN`` rows are
    looked at, and what is found beyond the first workspace's end of that is left for later.
    """
    down = ranges[0].down != back
    first = need if len(workspaces) <= _FEW else min(need, _LITTLE)
    places = _merged(ranges, workspaces, start, first, down=down)[:need]
    counted = Counter(place.workspace_id for place in places)
    more = [key for key, count in counted.items() if count >= first] if first < need else []
    if more:
        kept = [place for place in places if place.workspace_id not in more]
        fuller = _merged(ranges, more, start, need, down=down)
        places = sorted([*kept, *fuller], key=_key, reverse=down)[:need]
    horizon = _horizon(ranges, workspaces, start, down=down)
    if horizon is None:
        return Found(places)
    near = [p for p in places if (p.key >= horizon if down else p.key <= horizon)]
    # A page that is full has not come to where the look ended.
    return Found(near, None if len(near) == need else horizon)


def _key(place: Place) -> Key:
    return place.key


def _merged(
    ranges: Sequence[Range], workspaces: Sequence[int], start: Key | None, most: int, *, down: bool
) -> list[Place]:
    parts = [_hits(each, start, _share(workspaces), most, down=down) for each in ranges]
    return sorted(_read(parts, workspaces), key=_key, reverse=down)


def _horizon(
    ranges: Sequence[Range], workspaces: Sequence[int], start: Key | None, *, down: bool
) -> Key | None:
    """Return where the first of the looks ended that did not come to the end of a workspace."""
    share = _share(workspaces)
    ends = [
        _statement(_columns(_rows(each, start, down=down), each)[share - 1 : share])
        for each in ranges
        if each.wanted is not None
    ]
    keys = [place.key for place in _read(ends, workspaces)] if ends else []
    return (max(keys) if down else min(keys)) if keys else None


def _share(workspaces: Sequence[int]) -> int:
    """Return how many rows of each workspace are looked at."""
    return max(SCAN // max(len(workspaces), 1), _LEAST)


def _hits(
    each: Range, start: Key | None, share: int, most: int, *, down: bool
) -> tuple[str, tuple[Any, ...]]:
    """Return the statement that finds the places in any one workspace."""
    rows = _rows(each, start, down=down)
    if each.wanted is None:
        return _statement(_columns(rows, each)[:most])
    hit = Case(When(each.wanted, then=True), default=False, output_field=BooleanField())
    looked, given = _statement(_columns(rows.annotate(hit=hit), each, "hit")[:share])
    order = "DESC" if down else "ASC"
    return (
        f"SELECT value, rank_, talk, home FROM ({looked}) AS looked WHERE hit "  # noqa: S608  Django's own words
        f"ORDER BY value {order}, rank_ {order} LIMIT {int(most)}",
        given,
    )


def _rows(each: Range, start: Key | None, *, down: bool) -> QuerySet[Any]:
    """Return the rows of any one workspace from ``start`` on."""
    sign, column = "-" if down else "", each.column
    rows = each.rows.filter(workspace_id=_ANY).order_by(f"{sign}{column}", f"{sign}pk")
    if start is None:
        return rows
    edge, exact = divmod(start.rank - each.nth, each.of)
    # Flat on every database, which neither an OR nor a comparison of pairs is.
    if down:
        edge += 1 if exact else 0
        return rows.filter(**{f"{column}__lte": start.value}).exclude(
            **{column: start.value, "pk__gte": edge}
        )
    return rows.filter(**{f"{column}__gte": start.value}).exclude(
        **{column: start.value, "pk__lte": edge}
    )


def _columns(rows: QuerySet[Any], each: Range, *more: str) -> QuerySet[Any]:
    marked = rows.annotate(
        value=F(each.column),
        rank_=F("pk") * Value(each.of) + Value(each.nth),
        talk=F(each.conversation),
        home=F("workspace_id"),
    )
    found: QuerySet[Any] = marked.values_list("value", "rank_", "talk", "home", *more)
    return found


def _statement(rows: QuerySet[Any]) -> tuple[str, tuple[Any, ...]]:
    return rows.query.sql_with_params()


def _read(
    parts: Sequence[tuple[str, tuple[Any, ...]]], workspaces: Sequence[int]
) -> Iterator[Place]:
    """Yield what the statements find, each in every workspace."""
    for at in range(0, len(workspaces), _TOGETHER):
        some = workspaces[at : at + _TOGETHER]
        sql = " UNION ALL ".join(
            f"SELECT * FROM ({sql}) AS part"  # noqa: S608  Django's own words
            for sql, _ in parts
            for _ in some
        )
        given = [
            home if value == _ANY else value
            for _, values in parts
            for home in some
            for value in values
        ]
        with connection.cursor() as cursor:
            cursor.execute(sql, given)
            for value, rank, talk, home, *_ in cursor.fetchall():
                yield Place(Key(instant(value), int(rank)), talk, home)

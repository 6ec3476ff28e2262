"""Search over all conversations that a person may read, with the index of either database.

Words, filters and who may read are one expression of the index, and times are keys, so a search
costs what it shows, and what its rarest part finds. The newest come first, and pages go by key.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection

from jpweb.store.finding import dialects, keys, language, tags, words
from jpweb.store.finding.dialects import Group
from jpweb.store.finding.language import Filter, Query, Term
from jpweb.store.finding.snippets import Piece, snippet
from jpweb.store.models import Workspace

#: Hits of one page; of all that are in the order of how well they match, and among how many of the
#: newest they are looked for: how well one matches has to be asked of each.
PAGE = 25
BEST, AMONG = 50, 10_000
#: Hits that are counted; where there are more, that is said.
MOST = 500

_COLUMNS = (
    "p.body, p.id, p.conversation_id, p.position, p.anchor, p.facet, p.tool, p.who,"
    " p.state, p.reason, c.title, c.archived, w.name"
)
_HOME = " JOIN store_conversation c ON c.id = p.conversation_id"
_JOINED = f"{_HOME} JOIN store_workspace w ON w.id = c.workspace_id"
#: Said again of each row, whatever the index says.
_READABLE = "c.workspace_id IN (SELECT workspace_id FROM store_membership WHERE person_id = %s)"


class Hit(NamedTuple):
    """A passage that was found. ``anchor`` is empty for a title; ``at`` is its key's instant."""

    key: int
    conversation_id: int
    position: int
    anchor: str
    facet: str
    tool: str
    who: str
    state: str
    reason: str
    title: str
    archived: bool
    workspace: str
    at: datetime
    snippet: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Hits:
    """A page of hits; ``before`` is the key of the page that follows, or 0."""

    rows: list[Hit]
    before: int


@dataclass(frozen=True, slots=True)
class Search:
    """A query of a person, with what they may read: what the index is asked.

    ``problems`` tell what could not be looked for.
    """

    person_id: int
    query: Query
    problems: tuple[str, ...]
    _match: str

    def newest(self, before: int = 0) -> Hits:
        """Return a page of hits, the newest first, from below a key on."""
        rows = self._rows(PAGE + 1, before)
        return Hits(rows[:PAGE], rows[PAGE - 1].key if len(rows) > PAGE else 0)

    def best(self) -> Hits:
        """Return those of the ``AMONG`` newest hits that match best, and no more."""
        if not self._match:
            return Hits([], 0)
        where, given = self._where(0)
        dialect = dialects.current()
        if dialect.ranks_by_match:
            given = [self._match, *given]
        ranked = (
            f"SELECT {dialect.key} AS key, {dialect.rank} AS rank FROM {dialect.source}{_HOME}"  # noqa: S608  own names
            f" WHERE {where} ORDER BY {dialect.newest} LIMIT {AMONG}"
        )
        statement = (
            f"SELECT {_COLUMNS} FROM ({ranked}) AS ranked"  # noqa: S608  own names
            f" JOIN store_passage p ON p.id = ranked.key{_JOINED}"
            f" ORDER BY ranked.rank, p.id DESC LIMIT {BEST}"
        )
        return Hits(self._read(statement, given), 0)

    def count(self) -> int:
        """Return how many hits there are, at most one more than ``MOST``."""
        if not self._match:
            return 0
        where, given = self._where(0)
        statement = (
            f"SELECT count(*) FROM (SELECT 1 FROM {dialects.current().source}{_JOINED}"  # noqa: S608  own names
            f" WHERE {where} LIMIT {MOST + 1}) AS found"
        )
        with connection.cursor() as cursor:
            cursor.execute(statement, given)
            return int(cursor.fetchone()[0])

    def _rows(self, limit: int, before: int) -> list[Hit]:
        if not self._match:
            return []
        where, given = self._where(before)
        dialect = dialects.current()
        statement = (
            f"SELECT {_COLUMNS} FROM {dialect.source}{_JOINED}"  # noqa: S608  own names
            f" WHERE {where} ORDER BY {dialect.newest} LIMIT {limit}"
        )
        return self._read(statement, given)

    def _read(self, statement: str, given: list[Any]) -> list[Hit]:
        with connection.cursor() as cursor:
            cursor.execute(statement, given)
            rows = cursor.fetchall()
        lit = words.lighter(_words(term) for term in self.query.terms if not term.negated)
        return [
            Hit._make((*told, keys.instant(told[0]), snippet(body, lit(body))))
            for body, *told in rows
        ]

    def _where(self, before: int) -> tuple[str, list[Any]]:
        dialect = dialects.current()
        own = [dialect.match, _READABLE]
        given: list[Any] = [self._match, self.person_id]
        bounds = [(">=", self.query.after and keys.since(self.query.after))]
        bounds += [
            ("<", self.query.before and keys.since(self.query.before)),
            ("<", before or None),
        ]
        for sign, bound in bounds:
            if bound is not None:
                own.append(f"{dialect.key} {sign} %s")
                given.append(bound)
        return " AND ".join(own), given


def search(person_id: int, query: Query) -> Search:
    """Return the search of a person; it looks when it is asked to."""
    mine, alone = _workspaces(person_id)
    problems = list(query.problems)
    groups = _groups(query, person_id, problems)
    positive = any(not term.negated for term in query.terms) or any(
        not negated for _, negated in groups
    )
    if not mine or not query.looks:
        return Search(person_id, query, tuple(problems), "")
    if not alone or not positive:
        groups.append((tuple(tags.workspace(key) for key in mine), False))
    match = dialects.current().expression(query.terms, groups)
    return Search(person_id, query, tuple(problems), match)


def _groups(query: Query, person_id: int, problems: list[str]) -> list[Group]:
    """Return the filters as tags; several of one filter are alternatives, but for negated ones."""
    wanted: dict[str, list[str]] = {}
    barred: list[str] = []
    for each in query.filters:
        found = _tags(each, person_id)
        if not found:
            problems.append(f"You are not in a workspace called “{each.value[:80]}”.")
        elif each.negated:
            barred += found
        else:
            wanted.setdefault(each.name, []).extend(found)
    groups: list[Group] = [(tuple(dict.fromkeys(every)), False) for every in wanted.values()]
    return groups + ([(tuple(dict.fromkeys(barred)), True)] if barred else [])


def _tags(chosen: Filter, person_id: int) -> list[str]:
    match chosen.name:
        case "in":
            named = Workspace.objects.filter(
                name__iexact=chosen.value, memberships__person_id=person_id
            )
            return [tags.workspace(key) for key in named.values_list("pk", flat=True)]
        case "kind":
            return [tags.facet(facet) for facet in language.KINDS[chosen.value]]
        case "outcome":
            return [tags.state(chosen.value)]
        case name:
            return [tags.named(name, chosen.value)]


def _workspaces(person_id: int) -> tuple[list[int], bool]:
    """Return the workspaces of a person, and whether there are no others."""
    statement = (
        "SELECT workspace_id, (SELECT count(*) FROM store_workspace)"
        " FROM store_membership WHERE person_id = %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [person_id])
        rows = cursor.fetchall()
    return [key for key, _ in rows], bool(rows) and rows[0][1] == len(rows)


def _words(term: Term) -> words.Phrase:
    return tuple(words.words(term.text)), term.begun

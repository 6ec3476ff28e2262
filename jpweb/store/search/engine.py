"""Search over all conversations that a person may read, with the database's full-text index.

Words, filters and permission are one index expression, and times are ranges of ids, so the cost
grows with the hits on the page and the matches of the rarest term. Hits are ordered newest first,
with keyset pagination by id. ``conversation_groups`` ranks conversations by what is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection

from jpweb.store.models import Workspace
from jpweb.store.search import cjk, dialects, filter_terms, passage_ids, query_parser, tokenizer
from jpweb.store.search.dialects import TermGroup
from jpweb.store.search.query_parser import QueryFilter, QueryTerm, SearchQuery
from jpweb.store.search.snippets import Fragment, make_snippet

#: Hits per page.
PAGE_HITS = 25
#: Hits counted at most; above it the page shows "more than".
COUNT_LIMIT = 500

_COLUMNS = (
    "p.body, p.id, p.conversation_id, p.position, p.anchor, p.category, p.tool, p.who,"
    " p.state, p.reason, c.title, c.archived, w.name"
)
_CONVERSATION_JOIN = " JOIN store_conversation c ON c.id = p.conversation_id"
_WORKSPACE_JOIN = f"{_CONVERSATION_JOIN} JOIN store_workspace w ON w.id = c.workspace_id"
#: Permission check of each row against the membership table, in addition to the index terms.
_READABLE_CONDITION = (
    "c.workspace_id IN (SELECT workspace_id FROM store_membership WHERE person_id = %s)"
)


class SearchHit(NamedTuple):
    """A matching passage. ``anchor`` is empty for a title; ``at`` is the instant of its id."""

    key: int
    conversation_id: int
    position: int
    anchor: str
    category: str
    tool: str
    who: str
    state: str
    reason: str
    title: str
    archived: bool
    workspace: str
    at: datetime
    snippet: tuple[Fragment, ...]


@dataclass(frozen=True, slots=True)
class SearchPage:
    """A page of hits; ``before`` is the key of the page that follows, or 0."""

    rows: list[SearchHit]
    before: int


@dataclass(frozen=True, slots=True)
class Search:
    """A query of a person with its index expression; ``problems`` are its invalid parts."""

    person_id: int
    query: SearchQuery
    problems: tuple[str, ...]
    _match_expression: str
    _groups: tuple[TermGroup, ...] = ()

    @property
    def has_words(self) -> bool:
        """Whether it looks for words, by which conversations can be ranked."""
        return bool(self._match_expression) and any(
            not term.is_negated for term in self.query.terms
        )

    def list_keys(self, term: QueryTerm, limit: int) -> list[tuple[int, int, str]]:
        """Return the newest passages with one term: key, conversation and category.

        The query's filters, dates and excluded words count as well.
        """
        excluded_terms = [other_term for other_term in self.query.terms if other_term.is_negated]
        where, params = self._build_where(0, [term, *excluded_terms])
        dialect = dialects.get_dialect()
        statement = (
            f"SELECT {dialect.key}, p.conversation_id, p.category"  # noqa: S608  own names
            f" FROM {dialect.source}{_CONVERSATION_JOIN} WHERE {where}"
            f" ORDER BY {dialect.newest} LIMIT {limit}"
        )
        with connection.cursor() as cursor:
            cursor.execute(statement, params)
            rows: list[tuple[int, int, str]] = cursor.fetchall()
            return rows

    def load_hits(self, keys: Sequence[int], terms: Sequence[QueryTerm]) -> list[SearchHit]:
        """Return the hits with these keys, in no order, with these terms highlighted.

        The reader's workspaces are checked.
        """
        if not keys:
            return []
        places = ", ".join(["%s"] * len(keys))
        statement = (
            f"SELECT {_COLUMNS} FROM store_passage p{_WORKSPACE_JOIN}"  # noqa: S608  own names
            f" WHERE p.id IN ({places}) AND {_READABLE_CONDITION}"
        )
        return self._read_hits(statement, [*keys, self.person_id], terms)

    def list_newest(self, before: int = 0) -> SearchPage:
        """Return a page of hits below an id, the newest first."""
        rows = self._list_hits(PAGE_HITS + 1, before)
        return SearchPage(rows[:PAGE_HITS], rows[PAGE_HITS - 1].key if len(rows) > PAGE_HITS else 0)

    def count_hits(self) -> int:
        """Return the number of hits, up to one more than ``COUNT_LIMIT``."""
        if not self._match_expression:
            return 0
        where, params = self._build_where(0)
        statement = (
            f"SELECT count(*) FROM (SELECT 1 FROM {dialects.get_dialect().source}{_WORKSPACE_JOIN}"  # noqa: S608  own names
            f" WHERE {where} LIMIT {COUNT_LIMIT + 1}) AS found"
        )
        with connection.cursor() as cursor:
            cursor.execute(statement, params)
            return int(cursor.fetchone()[0])

    def _list_hits(self, limit: int, before: int) -> list[SearchHit]:
        if not self._match_expression:
            return []
        where, params = self._build_where(before)
        dialect = dialects.get_dialect()
        statement = (
            f"SELECT {_COLUMNS} FROM {dialect.source}{_WORKSPACE_JOIN}"  # noqa: S608  own names
            f" WHERE {where} ORDER BY {dialect.newest} LIMIT {limit}"
        )
        return self._read_hits(statement, params)

    def _read_hits(
        self, statement: str, params: list[Any], terms: Sequence[QueryTerm] | None = None
    ) -> list[SearchHit]:
        with connection.cursor() as cursor:
            cursor.execute(statement, params)
            rows = cursor.fetchall()
        highlight = _make_highlighter(self.query.terms if terms is None else terms)
        return [
            SearchHit._make(
                (*columns, passage_ids.get_instant(columns[0]), make_snippet(body, highlight(body)))
            )
            for body, *columns in rows
        ]

    def _build_where(
        self, before: int, terms: Sequence[QueryTerm] | None = None
    ) -> tuple[str, list[Any]]:
        """Return the condition of the query, or of some terms with the query's filters.

        Texts are compared last, so only those of rows that the index found.
        """
        dialect = dialects.get_dialect()
        expression = self._match_expression
        if terms is not None:
            expression = _build_expression(terms, self._groups)
        conditions = [dialect.match, _READABLE_CONDITION]
        params: list[Any] = [expression, self.person_id]
        bounds = [(">=", self.query.after and passage_ids.get_first_id_at(self.query.after))]
        bounds += [
            ("<", self.query.before and passage_ids.get_first_id_at(self.query.before)),
            ("<", before or None),
        ]
        for sign, bound_value in bounds:
            if bound_value is not None:
                conditions.append(f"{dialect.key} {sign} %s")
                params.append(bound_value)
        for term in filter(_is_comparison_needed, self.query.terms if terms is None else terms):
            conditions.append(("NOT " if term.is_negated else "") + dialect.body_match)
            params.append(cjk.make_pattern(term.text))
        return " AND ".join(conditions), params


def make_search(person_id: int, query: SearchQuery) -> Search:
    """Return a person's search; it queries the index when its methods are called."""
    workspace_ids, are_all = _list_readable_workspaces(person_id)
    problems = list(query.problems)
    groups = _build_groups(query, person_id, problems)
    has_positive = any(not term.is_negated for term in query.terms) or any(
        not is_negated for _, is_negated in groups
    )
    if not workspace_ids or not query.has_criteria:
        return Search(person_id, query, tuple(problems), "")
    if not are_all or not has_positive:
        groups.append(
            (tuple(filter_terms.make_workspace_term(key) for key in workspace_ids), False)
        )
    match = _build_expression(query.terms, groups)
    return Search(person_id, query, tuple(problems), match, tuple(groups))


def _build_groups(query: SearchQuery, person_id: int, problems: list[str]) -> list[TermGroup]:
    """Return the filters as groups of terms; several of one filter are alternatives."""
    required_groups: dict[str, list[str]] = {}
    excluded_terms: list[str] = []
    for query_filter in query.filters:
        terms = _filter_terms(query_filter, person_id)
        if not terms:
            problems.append(f"You are not in a workspace called “{query_filter.value[:80]}”.")
        elif query_filter.is_negated:
            excluded_terms += terms
        else:
            required_groups.setdefault(query_filter.name, []).extend(terms)
    groups: list[TermGroup] = [
        (tuple(dict.fromkeys(alternatives)), False) for alternatives in required_groups.values()
    ]
    return groups + ([(tuple(dict.fromkeys(excluded_terms)), True)] if excluded_terms else [])


def _filter_terms(query_filter: QueryFilter, person_id: int) -> list[str]:
    match query_filter.name:
        case "in":
            name = query_filter.value.casefold()
            workspaces = Workspace.objects.filter(memberships__person_id=person_id)
            return [
                filter_terms.make_workspace_term(key)
                for key, workspace_name in workspaces.values_list("pk", "name")
                if workspace_name.casefold() == name
            ]
        case "kind":
            return [
                filter_terms.make_category_term(category)
                for category in query_parser.CATEGORIES_BY_KIND[query_filter.value]
            ]
        case "outcome":
            return [filter_terms.make_state_term(query_filter.value)]
        case name:
            return [filter_terms.make_value_term(name, query_filter.value)]


def _list_readable_workspaces(person_id: int) -> tuple[list[int], bool]:
    """Return the workspaces of a person, and whether there are no others."""
    statement = (
        "SELECT workspace_id, (SELECT count(*) FROM store_workspace)"
        " FROM store_membership WHERE person_id = %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [person_id])
        rows = cursor.fetchall()
    return [key for key, _ in rows], bool(rows) and rows[0][1] == len(rows)


def _build_expression(terms: Sequence[QueryTerm], groups: Sequence[TermGroup]) -> str:
    """Return the index expression of terms and filters, in the present database's dialect.

    It excludes no text of which it knows the pairs alone: other text may have them too.
    """
    pairs = [
        ((tag,), term.is_negated)
        for term in terms
        if _is_cjk(term) and not (term.is_negated and _is_comparison_needed(term))
        for tag in cjk.list_query_terms(term.text)
    ]
    words = [term for term in terms if not _is_cjk(term)]
    return dialects.get_dialect().expression(words, [*groups, *pairs])


def _is_cjk(term: QueryTerm) -> bool:
    """Tell whether a term is looked up by pairs of characters instead of words."""
    return cjk.has_cjk(term.text)


def _is_comparison_needed(term: QueryTerm) -> bool:
    """Tell whether rows that have a term's pairs may not have the term itself."""
    return _is_cjk(term) and not cjk.is_indexed(term.text)


def _make_highlighter(all_terms: Sequence[QueryTerm]) -> Callable[[str], tokenizer.Spans]:
    terms = [term for term in all_terms if not term.is_negated]
    patterns = [cjk.make_pattern(term.text) for term in terms if _is_cjk(term)]
    words = frozenset[str]().union(*(term.forms for term in terms))
    phrases = [_make_phrase(term) for term in terms if not term.forms and not _is_cjk(term)]
    return tokenizer.make_highlighter(phrases, words, *patterns)


def _make_phrase(term: QueryTerm) -> tokenizer.FoldedPhrase:
    return tuple(tokenizer.split_words(term.text)), term.is_prefix

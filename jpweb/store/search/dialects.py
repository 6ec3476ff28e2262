"""SQL of the two search indexes: SQLite's FTS5 and PostgreSQL's tsvector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from django.db import connection, transaction

from jpweb.store.search import tokenizer
from jpweb.store.search.query_parser import QueryTerm

#: Pages of 4 kB that a step of ``merge_segments`` writes at most: it takes 3 ms of processor time,
#: during which others' writes wait.
MERGED_PAGES = 25

#: Filter terms of a passage: at least one must match; with True (negated) none may.
TermGroup: TypeAlias = tuple[tuple[str, ...], bool]


@dataclass(frozen=True, slots=True)
class SearchDialect:
    """Parts of a statement over passages ``p``. ``expression`` builds the argument of ``match``.

    ``body_match`` compares a row's text with a regular expression, which no index does.
    ``find_index_end`` returns where a text's words begin to have no position in its index.
    """

    source: str
    match: str
    body_match: str
    key: str
    newest: str
    expression: Callable[[Sequence[QueryTerm], Sequence[TermGroup]], str]
    find_index_end: Callable[[str], int]


def get_dialect() -> SearchDialect:
    """Return the dialect of the present database."""
    return POSTGRESQL if connection.vendor == "postgresql" else SQLITE


def merge_segments() -> bool:
    """Merge some segments of SQLite's index; return whether more may be left to merge.

    Each commit of passages adds a segment, and a query looks each form of its words up in all of
    them: 30 forms take 0.9 ms of processor time in 17 segments, 0.2 in 5. FTS5 itself merges while
    it writes, to some 20. PostgreSQL's index has no segments.
    """
    if get_dialect() is not SQLITE:
        return False
    with transaction.atomic(), connection.cursor() as cursor:
        change_count = connection.connection.total_changes
        cursor.execute(
            "INSERT INTO store_passage_words(store_passage_words, rank) VALUES ('merge', %s)",
            [MERGED_PAGES],
        )
        # The command alone counts as one change.
        return bool(connection.connection.total_changes - change_count > 1)


def build_fts5(terms: Sequence[QueryTerm], groups: Sequence[TermGroup]) -> str:
    """Return FTS5's expression; at least one term is not negated.

    Typed text is quoted, so none of its characters is an operator; filter terms are letters and
    digits.
    """
    required_terms = [_quote_term(term) for term in terms if not term.is_negated]
    required_terms += [_match_any_tag(group) for group in groups if not group[1]]
    excluded_terms = [_quote_term(term) for term in terms if term.is_negated]
    excluded_terms += [_match_any_tag(group) for group in groups if group[1]]
    return " NOT ".join([f"({' AND '.join(required_terms)})", *excluded_terms])


def build_tsquery(terms: Sequence[QueryTerm], groups: Sequence[TermGroup]) -> str:
    """Return PostgreSQL's ``tsquery``: words and filter terms only, quoted."""
    return " & ".join([*map(_build_phrase, terms), *map(_match_any_lexeme, groups)])


def _quote_term(term: QueryTerm) -> str:
    if forms := term.forms:
        return f"body : ({' OR '.join(sorted(forms))})"
    escaped_text = term.text.replace('"', '""')
    return f'body : "{escaped_text}"' + " *" * term.is_prefix


def _match_any_tag(group: TermGroup) -> str:
    return f"tags : ({' OR '.join(group[0])})"


def _build_phrase(term: QueryTerm) -> str:
    if forms := term.forms:
        return "(" + " | ".join(f"'{form}'" for form in sorted(forms)) + ")"
    phrase = " <-> ".join(f"'{word}'" for word in tokenizer.split_words(term.text))
    return "!" * term.is_negated + f"({phrase}{':*' * term.is_prefix})"


def _match_any_lexeme(group: TermGroup) -> str:
    alternatives = " | ".join(f"'#{tag}'" for tag in group[0])
    return "!" * group[1] + f"({alternatives})"


SQLITE = SearchDialect(
    source="store_passage_words f CROSS JOIN store_passage p ON p.id = f.rowid",
    match="store_passage_words MATCH %s",
    body_match="p.body REGEXP %s",
    key="f.rowid",
    newest="f.rowid DESC",
    expression=build_fts5,
    find_index_end=len,
)
POSTGRESQL = SearchDialect(
    source="store_passage p",
    match="p.lexemes @@ %s::tsquery",
    body_match="p.body ~ %s",
    key="p.id",
    newest="p.id DESC",
    expression=build_tsquery,
    find_index_end=tokenizer.find_index_end,
)

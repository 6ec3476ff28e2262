"""How either database is asked: where its index is, and how a search is spelled for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from django.db import connection

from jpweb.store.finding import words
from jpweb.store.finding.language import Term

#: Tags of which one has to be there, or, with True, none may.
Group: TypeAlias = tuple[tuple[str, ...], bool]


@dataclass(frozen=True, slots=True)
class Dialect:
    """Parts of a statement over passages ``p``. ``expression`` spells what ``match`` takes.

    ``rank`` is smaller the better one matches; it takes the expression where ``ranks_by_match``.
    """

    source: str
    match: str
    key: str
    newest: str
    rank: str
    ranks_by_match: bool
    expression: Callable[[Sequence[Term], Sequence[Group]], str]


def current() -> Dialect:
    """Return how the database at hand is asked."""
    return POSTGRESQL if connection.vendor == "postgresql" else SQLITE


def fts5(terms: Sequence[Term], groups: Sequence[Group]) -> str:
    """Return FTS5's expression; there is at least one that has to be there.

    What was typed stands in quotes, where nothing has a meaning; tags are letters and digits.
    """
    wanted = [_quoted(term) for term in terms if not term.negated]
    wanted += [_any_of(group) for group in groups if not group[1]]
    barred = [_quoted(term) for term in terms if term.negated]
    barred += [_any_of(group) for group in groups if group[1]]
    return " NOT ".join([f"({' AND '.join(wanted)})", *barred])


def tsquery(terms: Sequence[Term], groups: Sequence[Group]) -> str:
    """Return PostgreSQL's expression; words and tags alone, so nothing needs more than quotes."""
    return " & ".join([*map(_lexemes, terms), *map(_either, groups)])


def _quoted(term: Term) -> str:
    doubled = term.text.replace('"', '""')
    return f'body : "{doubled}"' + " *" * term.begun


def _any_of(group: Group) -> str:
    return f"tags : ({' OR '.join(group[0])})"


def _lexemes(term: Term) -> str:
    found = " <-> ".join(f"'{word}'" for word in words.words(term.text))
    return "!" * term.negated + f"({found}{':*' * term.begun})"


def _either(group: Group) -> str:
    found = " | ".join(f"'#{tag}'" for tag in group[0])
    return "!" * group[1] + f"({found})"


SQLITE = Dialect(
    source="store_passage_words f CROSS JOIN store_passage p ON p.id = f.rowid",
    match="store_passage_words MATCH %s",
    key="f.rowid",
    newest="f.rowid DESC",
    rank="f.rank",
    ranks_by_match=False,
    expression=fts5,
)
POSTGRESQL = Dialect(
    source="store_passage p",
    match="p.lexemes @@ %s::tsquery",
    key="p.id",
    newest="p.id DESC",
    rank="-ts_rank(p.lexemes, %s::tsquery)",
    ranks_by_match=True,
    expression=tsquery,
)

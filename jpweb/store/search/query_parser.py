"""Parses the search box: words, phrases, filters. Any text is a valid query.

* ``word``  ``"a phrase"``  ``begin*``: all of them must occur
* ``-word``, ``-"a phrase"``, ``-tool:git``: must not occur
* ``filter:value``, ``filter:"a value"``: of several of one filter, any

Invalid parts are reported in ``problems``, and the others count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from jpweb.store import db_text
from jpweb.store.inquiries import INQUIRY_STATES
from jpweb.store.search import cjk, word_forms
from jpweb.store.search.tokenizer import split_words

#: Characters of a query, and its terms and filters; the rest is dropped and reported in
#: ``problems``.
MAX_QUERY_CHARS = 1000
MAX_TERMS = 24

#: Categories by the value of the filter ``kind:``.
CATEGORIES_BY_KIND = {
    "title": ("title",),
    "person": ("person",),
    "assistant": ("message", "structure"),
    "reasoning": ("reasoning",),
    "tool": ("call",),
    "result": ("result", "failure"),
    "failure": ("failure",),
    "question": ("question",),
    "outcome": ("outcome", "dropped"),
    "summary": ("compaction",),
}
#: Filters by name, with the property that each compares.
FILTER_DESCRIPTIONS = {
    "in": "a workspace",
    "who": "who said or decided it",
    "tool": "a tool, or what its name begins with",
    "kind": "what it is",
    "outcome": "how a question ended",
    "reason": "why it was cancelled",
    "label": "a label of the conversation, or label=value",
    "after": "that day, month or year, or later",
    "before": "earlier than that day, month or year",
}
_DATE_FILTERS = ("after", "before")
_ALLOWED_VALUES = {"kind": tuple(CATEGORIES_BY_KIND), "outcome": INQUIRY_STATES}
_TOKEN = re.compile(r'(-?)(?:([A-Za-z]+):(?=[^\s:/]))?(?:"([^"]*)"?(\*?)|([^\s"]+))')
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?", re.ASCII)


class QueryTerm(NamedTuple):
    """Consecutive words; ``is_prefix`` where the last one is the beginning of a word.

    One ``is_quoted`` is matched as it is written; of another, other forms match too.
    """

    text: str
    is_prefix: bool = False
    is_negated: bool = False
    is_quoted: bool = False

    @property
    def forms(self) -> frozenset[str]:
        """The forms of a single word of which any may match; empty for a term without others."""
        words = split_words(self.text)
        if self.is_prefix or self.is_negated or self.is_quoted or len(words) != 1:
            return frozenset()
        forms = word_forms.list_forms(words[0])
        return forms if len(forms) > 1 else frozenset()


class QueryFilter(NamedTuple):
    """A condition on passages, or with ``is_negated`` its opposite."""

    name: str
    value: str
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A parsed query. ``after`` and ``before`` bound the time, the end exclusive."""

    terms: tuple[QueryTerm, ...] = ()
    filters: tuple[QueryFilter, ...] = ()
    after: datetime | None = None
    before: datetime | None = None
    problems: tuple[str, ...] = ()

    @property
    def has_criteria(self) -> bool:
        """Whether it has any term, filter or date."""
        return bool(self.terms or self.filters or self.after or self.before)

    @property
    def filter_texts(self) -> tuple[str, ...]:
        """Each filter and date, as it is typed."""
        dates = [("after", self.after), ("before", self.before)]
        return (
            *map(_format_filter, self.filters),
            *(f"{name}:{date:%Y-%m-%d}" for name, date in dates if date),
        )

    def format_without(self, filter_text: str) -> str:
        """Return the query as it is typed, without one of its filters."""
        other_texts = [text for text in self.filter_texts if text != filter_text]
        words = ["-" * term.is_negated + _format_term(term) for term in self.terms]
        return " ".join([*words, *other_texts])

    def find_words(self, highlighted_texts: Iterable[str]) -> str:
        """Return the terms that occur in highlighted texts, as find in conversation takes them.

        A word has the form in which it occurs. Returns all terms where nothing is highlighted.
        """
        texts = list(dict.fromkeys(highlighted_texts))
        folded_texts = list(dict.fromkeys(" ".join(split_words(text)) for text in texts))
        words: list[str] = []
        for term in (term for term in self.terms if not term.is_negated):
            first_word = split_words(term.text)[0]
            if term.forms:
                words += [text for text in folded_texts if text in term.forms]
            elif cjk.has_cjk(term.text):
                words += _format_spellings(term, texts)
            elif any(text.startswith(first_word) for text in folded_texts):
                words.append(_format_term(term))
        return " ".join(dict.fromkeys(words)) or self.highlighted_words

    @property
    def highlighted_words(self) -> str:
        """The words and phrases alone, as typed: the page highlights them."""
        required_terms = (term for term in self.terms if not term.is_negated)
        return " ".join(_format_term(term) for term in required_terms)


def parse_query(query_text: str, form_filters: Mapping[str, str] | None = None) -> SearchQuery:
    """Parse a query's text, and the filters that the form gives beside it."""
    parser = _QueryParser()
    for sign, name, phrase, star, bare_word in parser.split_tokens(db_text.clean_text(query_text)):
        parser.add_token(sign, name, phrase, star, bare_word)
    for name in FILTER_DESCRIPTIONS:
        value = db_text.clean_text((form_filters or {}).get(name, "")).strip()
        if value:
            parser.add_filter(name, value[:MAX_QUERY_CHARS], is_negated=False)
    return parser.build_query()


class _QueryParser:
    """Collects the parts of a query during parsing."""

    def __init__(self) -> None:
        self._terms: list[QueryTerm] = []
        self._filters: list[QueryFilter] = []
        self._dates: dict[str, datetime] = {}
        self._problems: list[str] = []

    def split_tokens(self, query_text: str) -> Iterable[tuple[str, ...]]:
        if len(query_text) > MAX_QUERY_CHARS:
            self._problems.append(f"Only the first {MAX_QUERY_CHARS:,} characters are searched.")
        return _TOKEN.findall(query_text[:MAX_QUERY_CHARS])

    def add_token(self, sign: str, name: str, phrase: str, star: str, bare_word: str) -> None:
        """Add one token: a filter, or words."""
        value = phrase or bare_word
        if name.lower() in FILTER_DESCRIPTIONS and value.strip():
            self.add_filter(name.lower(), value.strip(), is_negated=bool(sign))
            return
        if name:
            if value.strip() and not phrase:
                self._problems.append(
                    f"Unknown filter “{name}”: searched for “{name}:{bare_word}” as text. "
                    f"Filters: {', '.join(FILTER_DESCRIPTIONS)}."
                )
            value = f"{name}:{value}"
        is_prefix = bool(star) or (not phrase and value.endswith("*"))
        text = value.rstrip("*").strip()
        self._add_term(QueryTerm(text, is_prefix, bool(sign), is_quoted=bool(phrase)))

    def add_filter(self, name: str, value: str, *, is_negated: bool) -> None:
        """Add a filter."""
        if name in _DATE_FILTERS:
            self._add_date(name, value, is_negated=is_negated)
            return
        spelling = value.lower() if name in _ALLOWED_VALUES else value
        if name in _ALLOWED_VALUES and spelling not in _ALLOWED_VALUES[name]:
            allowed_values = ", ".join(_ALLOWED_VALUES[name])
            self._problems.append(f"Unknown {name} “{value[:80]}”. Use one of: {allowed_values}.")
        elif len(self._filters) < MAX_TERMS:
            self._filters.append(QueryFilter(name, spelling, is_negated))
        else:
            self._problems.append(f"Only the first {MAX_TERMS} filters are used.")

    def build_query(self) -> SearchQuery:
        after, before = self._dates.get("after"), self._dates.get("before")
        if after and before and after >= before:
            self._problems.append("The start date must be before the end date.")
        problems = tuple(dict.fromkeys(self._problems))
        return SearchQuery(tuple(self._terms), tuple(self._filters), after, before, problems)

    def _add_term(self, term: QueryTerm) -> None:
        if not split_words(term.text):
            if term.text.strip("-"):
                self._problems.append(f"“{term.text[:80]}” has no letter or digit to search for.")
        elif len(self._terms) < MAX_TERMS:
            self._terms.append(term)
        else:
            self._problems.append(f"Only the first {MAX_TERMS} words are used.")

    def _add_date(self, name: str, value: str, *, is_negated: bool) -> None:
        date = _parse_date(value)
        if is_negated or date is None:
            self._problems.append(
                f"“{name}” needs a year, month or day, such as {name}:2026, {name}:2026-05 or "
                f"{name}:2026-05-31, not “{'-' * is_negated}{value[:80]}”."
            )
            return
        choose_bound = max if name == "after" else min
        self._dates[name] = choose_bound(date, self._dates.get(name, date))


def _parse_date(value: str) -> datetime | None:
    match = _DATE.fullmatch(value)
    if match is None:
        return None
    year, month, day = (int(part or 1) for part in match.groups())
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None


def _format_filter(query_filter: QueryFilter) -> str:
    value = query_filter.value
    quoted_text = f'"{value}"' if re.search(r"\s", value) else value
    return "-" * query_filter.is_negated + f"{query_filter.name}:{quoted_text}"


def _format_spellings(term: QueryTerm, texts: Iterable[str]) -> list[str]:
    """Return the texts that are a term, as typed; a quote cannot be typed."""
    pattern = re.compile(cjk.make_pattern(term.text))
    spellings = [text for text in texts if pattern.fullmatch(text) and '"' not in text]
    return [_format_term(QueryTerm(spelling)) for spelling in spellings]


def _format_term(term: QueryTerm) -> str:
    is_quoted = term.is_quoted or re.search(r"\s", term.text)
    quoted_text = f'"{term.text}"' if is_quoted else term.text
    return quoted_text + "*" * term.is_prefix

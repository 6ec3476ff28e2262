"""What people type into the search box, read: words, phrases, filters. Any text means something.

* ``word``  ``"a phrase"``  ``begin*``: all of them have to be there
* ``-word``, ``-"a phrase"``, ``-tool:git``: must not be
* ``filter:value``, ``filter:"a value"``: of several of one filter, any

What cannot be read is told, and the rest counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from jpweb.store import plain
from jpweb.store.finding.words import words
from jpweb.store.inquiries import STATES

#: Characters of a query, terms and filters in it; what lies beyond is told, and left out.
LONGEST = 1000
MOST = 24

#: What an entry can be, as people name it, and the facets that it stands for.
KINDS = {
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
#: The filters, and what each looks at.
FILTERS = {
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
_DATES = ("after", "before")
_KNOWN = {"kind": tuple(KINDS), "outcome": STATES}
_TOKEN = re.compile(r'(-?)(?:([A-Za-z]+):(?=[^\s:/]))?(?:"([^"]*)"?(\*?)|([^\s"]+))')
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?", re.ASCII)


class Term(NamedTuple):
    """Words that have to stand one after the other; ``begun`` where the last may go on."""

    text: str
    begun: bool = False
    negated: bool = False


class Filter(NamedTuple):
    """What a passage has to be, or must not be."""

    name: str
    value: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for. ``after`` and ``before`` bound the time: from, and up to but without."""

    terms: tuple[Term, ...] = ()
    filters: tuple[Filter, ...] = ()
    after: datetime | None = None
    before: datetime | None = None
    problems: tuple[str, ...] = ()

    @property
    def looks(self) -> bool:
        """Whether it looks for anything."""
        return bool(self.terms or self.filters or self.after or self.before)

    @property
    def words(self) -> str:
        """The words and phrases alone, as typed: what a page lights."""
        wanted = (term for term in self.terms if not term.negated)
        return " ".join(_spelled(term) for term in wanted)


def read(typed: str, chosen: Mapping[str, str] | None = None) -> Query:
    """Return what somebody typed, and chose beside it, filter by filter."""
    reading = _Reading()
    for sign, name, phrase, star, bare in reading.tokens(plain.text(typed)):
        reading.take(sign, name, phrase, star, bare)
    for name in FILTERS:
        value = plain.text((chosen or {}).get(name, "")).strip()
        if value:
            reading.choose(name, value[:LONGEST], negated=False)
    return reading.query()


class _Reading:
    """A query while it is read."""

    def __init__(self) -> None:
        self._terms: list[Term] = []
        self._filters: list[Filter] = []
        self._dates: dict[str, datetime] = {}
        self._problems: list[str] = []

    def tokens(self, typed: str) -> Iterable[tuple[str, ...]]:
        if len(typed) > LONGEST:
            self._problems.append(f"Only the first {LONGEST:,} characters are searched.")
        return _TOKEN.findall(typed[:LONGEST])

    def take(self, sign: str, name: str, phrase: str, star: str, bare: str) -> None:
        """Take one token: a filter, or words."""
        value = phrase or bare
        if name.lower() in FILTERS and value.strip():
            self.choose(name.lower(), value.strip(), negated=bool(sign))
            return
        if name:
            if value.strip() and not phrase:
                self._problems.append(
                    f"Unknown filter “{name}”: searched for “{name}:{bare}” as text. "
                    f"Filters: {', '.join(FILTERS)}."
                )
            value = f"{name}:{value}"
        begun = bool(star) or (not phrase and value.endswith("*"))
        self._add(Term(value.rstrip("*").strip(), begun, negated=bool(sign)))

    def choose(self, name: str, value: str, *, negated: bool) -> None:
        """Take a filter."""
        if name in _DATES:
            self._date(name, value, negated=negated)
            return
        spelled = value.lower() if name in _KNOWN else value
        if name in _KNOWN and spelled not in _KNOWN[name]:
            there = ", ".join(_KNOWN[name])
            self._problems.append(f"Unknown {name} “{value[:80]}”. Use one of: {there}.")
        elif len(self._filters) < MOST:
            self._filters.append(Filter(name, spelled, negated))
        else:
            self._problems.append(f"Only the first {MOST} filters are used.")

    def query(self) -> Query:
        after, before = self._dates.get("after"), self._dates.get("before")
        if after and before and after >= before:
            self._problems.append("The start date must be before the end date.")
        problems = tuple(dict.fromkeys(self._problems))
        return Query(tuple(self._terms), tuple(self._filters), after, before, problems)

    def _add(self, term: Term) -> None:
        if not words(term.text):
            if term.text.strip("-"):
                self._problems.append(f"“{term.text[:80]}” has no letter or digit to search for.")
        elif len(self._terms) < MOST:
            self._terms.append(term)
        else:
            self._problems.append(f"Only the first {MOST} words are used.")

    def _date(self, name: str, value: str, *, negated: bool) -> None:
        moment = _moment(value)
        if negated or moment is None:
            self._problems.append(
                f"“{name}” needs a year, month or day, such as {name}:2026, {name}:2026-05 or "
                f"{name}:2026-05-31, not “{'-' * negated}{value[:80]}”."
            )
            return
        tighter = max if name == "after" else min
        self._dates[name] = tighter(moment, self._dates.get(name, moment))


def _moment(value: str) -> datetime | None:
    found = _DATE.fullmatch(value)
    if found is None:
        return None
    year, month, day = (int(part or 1) for part in found.groups())
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None


def _spelled(term: Term) -> str:
    quoted = f'"{term.text}"' if re.search(r"\s", term.text) else term.text
    return quoted + "*" * term.begun

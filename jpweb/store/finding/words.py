"""Words as PostgreSQL's index keeps them, and as the hits of either database are lit.

SQLite splits text itself (FTS5, ``unicode61`` with ``_``). PostgreSQL's own parser keeps paths and
addresses whole and splits names at ``_``, so its lexemes are made here, by the same rule: letters,
digits and ``_`` make words; case and accents do not count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import TypeAlias

WORD = re.compile(r"\w+")
#: Characters of a lexeme; PostgreSQL takes 2 kB.
_LONGEST = 200
#: Words of a phrase that are lit; for a longer one, texts take long that begin it everywhere.
_LIT = 20
#: What a lexeme keeps of where it stands: PostgreSQL counts no further, and no more places.
_LAST_PLACE = 16_383
_PLACES = 255
#: Bytes of lexemes and their places, of the megabyte that PostgreSQL takes.
_ROOM = 900_000


def fold(text: str) -> str:
    """Return the text without case and accents."""
    if text.isascii():
        return text.lower()
    letters = unicodedata.normalize("NFD", text.lower())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def words(text: str) -> list[str]:
    """Return the words of a text, folded, in order."""
    return [word[:_LONGEST] for word in WORD.findall(fold(text))]


def vector(body: str, tags: str) -> str:
    """Return what PostgreSQL reads as a ``tsvector``: the words and where they stand, the tags.

    A tag is a lexeme with ``#`` before it, which no word holds.
    """
    places: dict[str, list[int]] = {}
    room = _ROOM
    for place, word in enumerate(words(body), 1):
        known = places.get(word)
        if known is None:
            room -= len(word.encode()) + 8
            known = places[word] = []
        if len(known) < _PLACES and (not known or known[-1] < _LAST_PLACE):
            known.append(min(place, _LAST_PLACE))
            room -= 2
        if room < 0:
            break
    made = [f"'{word}':{','.join(map(str, known))}" for word, known in places.items()]
    return " ".join([*made, *(f"'#{tag}'" for tag in tags.split())])


#: Folded words that stand one after the other; with True the last may go on.
Phrase: TypeAlias = tuple[tuple[str, ...], bool]
Spans: TypeAlias = list[tuple[int, int]]


def lighter(wanted: Iterable[Phrase]) -> Callable[[str], Spans]:
    """Return what tells where these phrases stand in a text, in order and apart.

    Single words of a phrase are not lit, the phrase is; of a long one its beginning.
    """
    begins = ((found[:_LIT], begun and len(found) <= _LIT) for found, begun in wanted)
    phrases = sorted(begins, key=lambda phrase: -sum(map(len, phrase[0])))
    patterns = [
        r"\W+".join(map(re.escape, found)) + (r"\w*" if begun else "")
        for found, begun in phrases
        if found
    ]
    if not patterns:
        return lambda _text: []
    pattern = re.compile(rf"\b(?:{'|'.join(patterns)})\b", re.IGNORECASE)

    def lit(text: str) -> Spans:
        spans = [found.span() for found in pattern.finditer(text)]
        return spans if spans or text.isascii() else _accented(text, phrases)

    return lit


def _accented(text: str, phrases: Iterable[Phrase]) -> Spans:
    """Return the spans of phrases word by word, each folded."""
    found = list(WORD.finditer(text))
    folded = [fold(each[0]) for each in found]
    begins = tuple({looked[0] for looked, _ in phrases if looked})
    spans: Spans = []
    for nth in (nth for nth, word in enumerate(folded) if word.startswith(begins)):
        for looked, begun in phrases:
            last = nth + len(looked) - 1
            there = tuple(folded[nth : last + 1])
            same = there[:-1] == looked[:-1] and len(there) == len(looked) > 0
            ends = same and (there[-1].startswith(looked[-1]) if begun else there == looked)
            if ends and (not spans or found[nth].start() >= spans[-1][1]):
                spans.append((found[nth].start(), found[last].end()))
    return spans

"""Search result snippets with the matches highlighted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

#: Characters of a snippet, and those of them before the first match.
SNIPPET_CHARS = 240
LEADING_CHARS = 80
#: Bidirectional controls, which reorder the text around them, and other control characters.
_INVISIBLE_CHARS = (
    *range(0x20),
    *range(0x7F, 0xA0),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
    0xFEFF,
)
_CHAR_REPLACEMENTS = dict.fromkeys(_INVISIBLE_CHARS, "\N{REPLACEMENT CHARACTER}") | dict.fromkeys(
    range(0x9, 0xE), " "
)
_BLANKS = re.compile(r"\s+")


class Fragment(NamedTuple):
    """A part of a snippet; ``highlighted`` where it is a match."""

    text: str
    highlighted: bool


def make_snippet(text: str, spans: Sequence[tuple[int, int]]) -> tuple[Fragment, ...]:
    """Return the text around the first of these ordered, disjoint spans, as fragments.

    Without a span it is the beginning. It is plain text on one line: the page escapes it.
    """
    first = spans[0][0] if spans else 0
    begin = _next_word_start(text, max(first - LEADING_CHARS, 0), first)
    end = min(begin + SNIPPET_CHARS, len(text))
    if spans:
        end = min(max(end, spans[0][1]), begin + 2 * SNIPPET_CHARS, len(text))
    fragments = []
    covered_to = begin
    plain_text = "…" if begin else ""
    for start, stop in spans:
        if start >= end:
            break
        plain_text += _make_visible(text[covered_to:start])
        if plain_text:
            fragments.append(Fragment(plain_text, highlighted=False))
        plain_text, covered_to = "", min(stop, end)
        fragments.append(Fragment(_make_visible(text[start:covered_to]), highlighted=True))
    plain_text += _make_visible(text[covered_to:end]) + ("…" if end < len(text) else "")
    return (*fragments, Fragment(plain_text, highlighted=False)) if plain_text else tuple(fragments)


def _next_word_start(text: str, begin: int, first: int) -> int:
    """Return the start of the next word, or ``begin`` if none is within ``LEADING_CHARS`` / 2."""
    if begin == 0:
        return 0
    blank = _BLANKS.search(text, begin, min(begin + LEADING_CHARS // 2, first))
    return blank.end() if blank else begin


def _make_visible(text: str) -> str:
    """Return text for one line of a page, without Markdown's marks of emphasis and fences."""
    text = text.replace("**", "").replace("```", "")
    visible = text if text.isascii() and text.isprintable() else text.translate(_CHAR_REPLACEMENTS)
    return _BLANKS.sub(" ", visible) if "  " in visible else visible

"""Search result snippets with the matches highlighted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from jpweb.store.search import markdown_marks

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

    Without a span it is the beginning. It is plain text on one line, without Markdown's marks: the
    page escapes it.
    """
    first_match = spans[0][0] if spans else 0
    begin = _find_next_word_start(text, max(first_match - LEADING_CHARS, 0), first_match)
    hidden_spans = markdown_marks.find_marks(text, begin, begin + 2 * SNIPPET_CHARS, spans)
    end = begin + SNIPPET_CHARS
    end += sum(min(stop, end) - start for start, stop in hidden_spans if start < end)
    if spans:
        end = max(end, spans[0][1])
    end = min(end, begin + 2 * SNIPPET_CHARS, len(text))
    fragments: list[Fragment] = []
    covered_to = begin
    plain_text = "…" if begin else ""
    for start, stop in spans:
        if start >= end:
            break
        plain_text += _make_visible(text, covered_to, start, hidden_spans)
        if not fragments:
            plain_text = plain_text.lstrip(" ")
        if plain_text:
            fragments.append(Fragment(plain_text, highlighted=False))
        plain_text, covered_to = "", min(stop, end)
        match_text = _make_visible(text, start, covered_to, hidden_spans)
        match_text = match_text or _make_visible(text, start, covered_to, [])
        fragments.append(Fragment(match_text, highlighted=True))
    plain_text += _make_visible(text, covered_to, end, hidden_spans)
    plain_text = plain_text + "…" if end < len(text) else plain_text.rstrip(" ")
    if not fragments:
        plain_text = plain_text.lstrip(" ")
    return (*fragments, Fragment(plain_text, highlighted=False)) if plain_text else tuple(fragments)


def _find_next_word_start(text: str, begin: int, first_match: int) -> int:
    """Return the start of the next word, or ``begin`` if none is within ``LEADING_CHARS`` / 2."""
    if begin == 0:
        return 0
    blank_match = _BLANKS.search(text, begin, min(begin + LEADING_CHARS // 2, first_match))
    return blank_match.end() if blank_match else begin


def _make_visible(text: str, begin: int, end: int, hidden_spans: Sequence[tuple[int, int]]) -> str:
    """Return a part of a text for one line of a page, without its hidden ranges."""
    pieces = []
    for start, stop in hidden_spans:
        if start >= end:
            break
        if stop > begin:
            pieces.append(text[begin : max(start, begin)])
            begin = min(stop, end)
    visible_text = "".join((*pieces, text[begin:end]))
    if not (visible_text.isascii() and visible_text.isprintable()):
        visible_text = visible_text.translate(_CHAR_REPLACEMENTS)
    return _BLANKS.sub(" ", visible_text) if "  " in visible_text else visible_text

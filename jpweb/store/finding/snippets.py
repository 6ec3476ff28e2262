"""The piece of a text around what was looked for, with that lit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

#: Characters of a snippet, and how many of them stand before the first hit.
LENGTH = 240
BEFORE = 80
#: What would change the order of the text around it, and what a line cannot show.
_UNSHOWN = (
    *range(0x20),
    *range(0x7F, 0xA0),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
    0xFEFF,
)
_SHOWN = dict.fromkeys(_UNSHOWN, "\N{REPLACEMENT CHARACTER}") | dict.fromkeys(range(0x9, 0xE), " ")
_BLANKS = re.compile(r"\s+")


class Piece(NamedTuple):
    """A piece of a snippet; ``lit`` where it is what was looked for."""

    text: str
    lit: bool


def snippet(text: str, spans: Sequence[tuple[int, int]]) -> tuple[Piece, ...]:
    """Return the text around the first of these spans, in order and apart, those in it lit.

    Without a span it is the beginning. It is plain text on one line: the page escapes it.
    """
    first = spans[0][0] if spans else 0
    begin = _after_blank(text, max(first - BEFORE, 0), first)
    end = min(begin + LENGTH, len(text))
    if spans:
        end = min(max(end, spans[0][1]), begin + 2 * LENGTH, len(text))
    pieces = []
    done = begin
    dark = "…" if begin else ""
    for start, stop in spans:
        if start >= end:
            break
        dark += _shown(text[done:start])
        if dark:
            pieces.append(Piece(dark, lit=False))
        dark, done = "", min(stop, end)
        pieces.append(Piece(_shown(text[start:done]), lit=True))
    dark += _shown(text[done:end]) + ("…" if end < len(text) else "")
    return (*pieces, Piece(dark, lit=False)) if dark else tuple(pieces)


def _after_blank(text: str, begin: int, first: int) -> int:
    """Return where the first whole word begins from here on, or here where that is too far."""
    if begin == 0:
        return 0
    blank = _BLANKS.search(text, begin, min(begin + BEFORE // 2, first))
    return blank.end() if blank else begin


def _shown(text: str) -> str:
    shown = text if text.isascii() and text.isprintable() else text.translate(_SHOWN)
    return _BLANKS.sub(" ", shown) if "  " in shown else shown

"""The piece of a text around what was looked for, with that lit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

#: Characters of a snippet, and how many of them stand before the first hit.
LENGTH = 240
BEFORE = 80
#: What would change the order of the text around it, and what a line cannot show.
_UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")
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
    made = [Piece("…" if begin else "", False)]
    done = begin
    for start, stop in spans:
        if start >= end:
            break
        made += [Piece(text[done:start], False), Piece(text[start : min(stop, end)], True)]
        done = min(stop, end)
    made += [Piece(text[done:end], False), Piece("…" if end < len(text) else "", False)]
    return _joined(Piece(_shown(piece.text), piece.lit) for piece in made)


def _after_blank(text: str, begin: int, first: int) -> int:
    """Return where the first whole word begins from here on, or here where that is too far."""
    if begin == 0:
        return 0
    blank = _BLANKS.search(text, begin, min(begin + BEFORE // 2, first))
    return blank.end() if blank else begin


def _shown(text: str) -> str:
    return _UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", _BLANKS.sub(" ", text))


def _joined(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Return the pieces without empty ones, dark neighbours made one."""
    made: list[Piece] = []
    for piece in pieces:
        if not piece.text:
            continue
        if made and not piece.lit and not made[-1].lit:
            made[-1] = Piece(made[-1].text + piece.text, False)
        else:
            made.append(piece)
    return tuple(made)

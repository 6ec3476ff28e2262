"""Marks of Markdown in a part of a text, which a snippet leaves out.

Underscores stay, as identifiers have them, and so do the marks of list items, which separate them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

#: Characters around a part in which a mark begins or ends that reaches into it.
_CONTEXT_CHARS = 300
_HINT = re.compile(r"[*`#\[>~<\\]|---")
#: Marks alone. Each repetition has a bound or takes characters that nothing after it takes.
_MARKS = re.compile(
    r"""
    (?<!\\)`+                                                # code, fences
    | ^[ \t]{0,3}~{3,}                                        # fences
    | ^[ \t]{0,3}(?:\#{1,6}[ \t]+|(?:>[ \t]?){1,9})           # headings, quotes
    | (?<![\w*/\\])\*{2,3}(?=[^\s*/.])                        # strong emphasis begins,
    | (?<=[^\s*/\\])\*{2,3}(?![\w*/])                         # and ends
    | (?<![\w~])~~(?=[^\s~]) | (?<=[^\s~])~~(?![\w~])         # deleted text
    | ^(?=[^\n]*---)[ \t:|-]+$                               # rules, rows below a table's head
    | \\(?=[*_`])                                           # escapes
    """,
    re.MULTILINE | re.VERBOSE,
)
_EMPHASIS = re.compile(r"(?<![\w*/\\])(\*)(?=[\w\"'(\[`])[^*\n]{0,200}[^\s*/\\](\*)(?![\w*/.])")
_AUTOLINK = re.compile(r"(<)(?:https?://|mailto:)[^\s<>]{1,300}(>)")
#: A link or an image; a call of an indexed value, ``handlers[0](event)``, is none.
_LINK = re.compile(
    r"""
    (?<![\w\])])(!?\[)[^\[\]\n]{0,200}
    (\]\([^()\s]{0,300}(?:\([^()\s]{0,99}\)[^()\s]{0,99})?(?:[ ]"[^"\n]{0,99}")?\))
    """,
    re.VERBOSE,
)
_FENCE_LANGUAGE = re.compile(r"(?<=```)[\w+.-]{1,40}$", re.MULTILINE)


def find_marks(
    text: str, begin: int, end: int, spans: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return the ranges of Markdown's marks in a part of a text, ordered and disjoint.

    A link's address or a fence's language is a mark unless one of the spans is in it.
    """
    first_char, last_char = max(begin - _CONTEXT_CHARS, 0), end + _CONTEXT_CHARS
    if not _HINT.search(text, first_char, last_char):
        return []
    ranges = [mark.span() for mark in _MARKS.finditer(text, first_char, last_char)]
    for mark in _EMPHASIS.finditer(text, first_char, last_char):
        ranges += [mark.span(1), mark.span(2)]
    for mark in _AUTOLINK.finditer(text, first_char, last_char):
        ranges += [mark.span(1), mark.span(2)]
    for mark in _LINK.finditer(text, first_char, last_char):
        if not _is_overlapping(mark.span(2), spans):
            ranges += [mark.span(1), mark.span(2)]
    for mark in _FENCE_LANGUAGE.finditer(text, first_char, last_char):
        if not _is_overlapping(mark.span(), spans):
            ranges.append(mark.span())
    return list(_merge(ranges, begin, end))


def _is_overlapping(mark: tuple[int, int], spans: Sequence[tuple[int, int]]) -> bool:
    return any(start < mark[1] and stop > mark[0] for start, stop in spans)


def _merge(ranges: list[tuple[int, int]], begin: int, end: int) -> Iterator[tuple[int, int]]:
    covered_to = begin
    for start, stop in sorted(ranges):
        if start < end and stop > covered_to:
            yield max(start, covered_to), min(stop, end)
            covered_to = stop

"""Fenced blocks: where a Markdown text can be cut, and what tools put in their results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from django.utils.html import escape
from django.utils.safestring import SafeString

from jpweb.runtime.prose import code, cuts

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")
_MARK = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_OPENING = re.compile(r"^ {0,3}(?:`{3,}|~{3,})[ ]*(\w[^\n]*)", re.MULTILINE)


class Fence(NamedTuple):
    """An open block: the line that opened it, its marks and its language."""

    line: str
    marks: str
    language: str


def step(line: str, inside: Fence | None) -> Fence | None:
    """Return which block is open after a line."""
    found = _FENCE.match(line)
    if not found:
        return inside
    marks, rest = found[1], found[2].strip()
    if inside is None:
        # A line of backticks with more of them behind is code in a paragraph.
        return None if marks[0] == "`" and "`" in rest else Fence(line, marks, _first(rest))
    closes = marks.startswith(inside.marks) and not rest
    return None if closes else inside


def has_any(text: str) -> bool:
    """Tell whether a text holds a fence."""
    return bool(_MARK.search(text))


def name_a_language(text: str) -> bool:
    """Tell whether there is code in a text that could be coloured and, being long, is not yet."""
    return any(
        code.language(_first(found[1])) not in ("", "diff") for found in _OPENING.finditer(text)
    )


def parts(text: str, most: int) -> Iterator[str]:
    """Yield the parts of a Markdown text, with fences closed and opened again where it is cut.

    So what is code in one stays code in the next.
    """
    inside: Fence | None = None
    for part in cuts.parts(text, most):
        opened = inside.line + "\n" if inside else ""
        for line in part.removesuffix("\n").split("\n"):
            inside = step(line, inside)
        whole = opened + part
        if inside:
            whole += ("" if whole.endswith("\n") else "\n") + inside.marks + "\n"
        yield whole


def coloured(text: str, most: int = code.MOST) -> SafeString:
    """Return a plain text as HTML, the code in its fences coloured; every line stays as it is."""
    return SafeString("\n".join(_blocks(text, most)))


def _blocks(text: str, most: int) -> Iterator[str]:
    inside: Fence | None = None
    held: list[str] = []
    for line in text.split("\n"):
        after = step(line, inside)
        if after == inside:
            held.append(line)
            continue
        if held:
            yield _block(held, inside, most)
        held, inside = [], after
        yield f'<span class="c">{escape(line)}</span>'
    if held:
        yield _block(held, inside, most)


def _block(lines: list[str], inside: Fence | None, most: int) -> str:
    text = "\n".join(lines)
    return str(code.coloured(text, inside.language, most) if inside else escape(text))


def _first(rest: str) -> str:
    return rest.split(maxsplit=1)[0] if rest else ""

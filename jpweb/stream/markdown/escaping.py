"""Texts within Markdown that cannot pass for the structure around them."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

#: Line endings of Markdown; Unicode's other line separators end no line.
_LINE_END = re.compile(r"\r\n|\r|\n")
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
#: Characters of a text that is written at once. Rendering as many takes 3 to 11 ms.
MAX_BLOCK_CHARS = 20_000
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


class LongText(NamedTuple):
    """A text that is to be quoted or fenced and too long to be written at once."""

    text: str
    is_fenced: bool
    language: str = ""

    def __str__(self) -> str:
        return fence_text(self.text, self.language) if self.is_fenced else quote_text(self.text)


#: A paragraph, heading, quote or fence.
Block = str | LongText


def write_quote(text: str) -> Block:
    """Return the quote of a text, or the long text that becomes one."""
    is_long = len(text) > MAX_BLOCK_CHARS
    return LongText(text, is_fenced=False) if is_long else quote_text(text)


def write_fence(text: str, language: str = "") -> Block:
    """Return a text in a fence, or the long text that becomes it."""
    is_long = len(text) > MAX_BLOCK_CHARS
    return (
        LongText(text, is_fenced=True, language=language) if is_long else fence_text(text, language)
    )


def quote_text(text: str) -> str:
    """Return a text as a quote that no line of it can end."""
    return "\n".join(f"> {line}" if line else ">" for line in _LINE_END.split(text))


def fence_text(text: str, language: str = "") -> str:
    """Return a text in a fence that is longer than any run of backticks inside."""
    fence = make_fence(_measure_backticks(text))
    return f"{fence}{language}\n{text}\n{fence}"


def make_fence(longest_backticks: int) -> str:
    """Return the marks of a fence around a text with a run of so many backticks."""
    return "`" * max(3, longest_backticks + 1)


def make_code_span(text: str) -> str:
    """Return a text as code within a line."""
    ticks = "`" * (_measure_backticks(text) + 1)
    code_text = escape_controls(text)
    pad = " " if code_text[:1] in ("`", " ") or code_text[-1:] in ("`", " ") else ""
    return f"{ticks}{pad}{code_text}{pad}{ticks}" if code_text else "(no name)"


def escape_line(text: str) -> str:
    """Return a text within a line, its Markdown punctuation escaped."""
    return _PUNCTUATION.sub(r"\\\1", _CONTROL.sub(" ", text))


def escape_controls(text: str) -> str:
    """Return a text whose control characters, which could add lines, are escaped as in JSON."""
    return _CONTROL.sub(_escape_control, text)


def _measure_backticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _escape_control(control: re.Match[str]) -> str:
    return json.dumps(control[0])[1:-1]

"""Texts within Markdown that cannot pass for the structure around them."""

from __future__ import annotations

import json
import re

#: Line endings of Markdown; Unicode's other line separators end no line.
_LINE_END = re.compile(r"\r\n|\r|\n")
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


def quote_text(text: str) -> str:
    """Return a text as a quote that no line of it can end."""
    return "\n".join(f"> {line}" if line else ">" for line in _LINE_END.split(text))


def fence_text(text: str, language: str = "") -> str:
    """Return a text in a fence that is longer than any run of backticks inside."""
    fence = "`" * max(3, _measure_backticks(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


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

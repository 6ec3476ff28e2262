"""Renders unified diffs, a class for each line; the signs stay, so colour is not the only mark."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.utils.html import escape
from django.utils.safestring import SafeString

_HUNK_HEADER = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_FILE_HEADER = re.compile(
    r"(?:diff |index |--- |\+\+\+ |(?:new|deleted) file mode |rename |similarity |Binary files )"
)
_KIND_BY_SIGN = {"+": "added", "-": "removed", "@": "hunk"}
_DIFF_START = re.compile(r"^(?:diff --git |--- [^\n]*\n\+\+\+ )", re.MULTILINE)
_MAX_SCANNED_CHARS = 4_000


def is_diff(text: str) -> bool:
    """Return whether a text starts as a unified diff."""
    beginning = text[:_MAX_SCANNED_CHARS]
    return bool(_DIFF_START.search(beginning)) and "\n@@ -" in beginning


def render_diff(text: str) -> SafeString:
    """Return a diff as HTML with a span for each line that is not context."""
    return SafeString(
        "\n".join(_make_line_span(kind, line) for kind, line in _classify_lines(text))
    )


def _classify_lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield each line with its kind. Inside a hunk only the sign decides.

    So no line of a changed file can look like a file header.
    """
    old_count = new_count = 0
    for line in text.split("\n"):
        if old_count > 0 or new_count > 0:
            sign = line[:1]
            old_count -= sign in ("-", " ", "")
            new_count -= sign in ("+", " ", "")
            yield ("" if sign == "@" else _KIND_BY_SIGN.get(sign, "")), line
        elif hunk := _HUNK_HEADER.match(line):
            old_count, new_count = (int(count or 1) for count in hunk.groups())
            yield "hunk", line
        elif _FILE_HEADER.match(line):
            yield "file", line
        else:
            yield _KIND_BY_SIGN.get(line[:1], ""), line


def _make_line_span(kind: str, line: str) -> str:
    return f'<span class="{kind}">{escape(line)}</span>' if kind else str(escape(line))

"""Unified diffs, each line marked for what it is; its sign stays, so colour is not all."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.utils.html import escape
from django.utils.safestring import SafeString

_HUNK = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_HEAD = re.compile(
    r"(?:diff |index |--- |\+\+\+ |(?:new|deleted) file mode |rename |similarity |Binary files )"
)
_SIGNS = {"+": "added", "-": "removed", "@": "hunk"}
_IS_ONE = re.compile(r"^(?:diff --git |--- [^\n]*\n\+\+\+ )", re.MULTILINE)
_FAR = 4_000


def is_one(text: str) -> bool:
    """Tell whether a text is a unified diff, from its beginning."""
    beginning = text[:_FAR]
    return bool(_IS_ONE.search(beginning)) and "\n@@ -" in beginning


def marked(text: str) -> SafeString:
    """Return a diff as HTML, a span a line that is not context; its text is as it was."""
    return SafeString("\n".join(_line(kind, line) for kind, line in _kinds(text)))


def _kinds(text: str) -> Iterator[tuple[str, str]]:
    """Yield each line with its kind. Inside a hunk a line is what its sign says, whatever it says.

    So nothing in a file that is changed can look like the name of another.
    """
    old = new = 0
    for line in text.split("\n"):
        if old > 0 or new > 0:
            sign = line[:1]
            old -= sign in ("-", " ", "")
            new -= sign in ("+", " ", "")
            yield ("" if sign == "@" else _SIGNS.get(sign, "")), line
        elif hunk := _HUNK.match(line):
            old, new = (int(count or 1) for count in hunk.groups())
            yield "hunk", line
        elif _HEAD.match(line):
            yield "file", line
        else:
            yield _SIGNS.get(line[:1], ""), line


def _line(kind: str, line: str) -> str:
    return f'<span class="{kind}">{escape(line)}</span>' if kind else str(escape(line))

"""Fenced code blocks: splits Markdown at fences, and highlights fences in plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from django.utils.html import escape
from django.utils.safestring import SafeString

from jpweb.runtime.rendering import syntax_highlighting, text_chunks

_FENCE_LINE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")
_FENCE_MARK = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_LANGUAGE_FENCE = re.compile(r"^ {0,3}(?:`{3,}|~{3,})[ ]*(\w[^\n]*)", re.MULTILINE)


class Fence(NamedTuple):
    """An open code block: its opening line, its marks and its language."""

    line: str
    marks: str
    language: str


def find_next_fence(line: str, open_fence: Fence | None) -> Fence | None:
    """Return the block that is open after a line."""
    match = _FENCE_LINE.match(line)
    if not match:
        return open_fence
    marks, info_string = match[1], match[2].strip()
    if open_fence is None:
        # CommonMark: an info string with backticks makes the line inline code, not a fence.
        return (
            None
            if marks[0] == "`" and "`" in info_string
            else Fence(line, marks, _get_first_word(info_string))
        )
    is_closing = marks.startswith(open_fence.marks) and not info_string
    return None if is_closing else open_fence


def has_fence(text: str) -> bool:
    """Return whether a text contains a fence."""
    return bool(_FENCE_MARK.search(text))


def has_highlightable_code(text: str) -> bool:
    """Return whether a text contains code in a language that can be highlighted."""
    return any(
        syntax_highlighting.find_language(_get_first_word(match[1])) not in ("", "diff")
        for match in _LANGUAGE_FENCE.finditer(text)
    )


def split_markdown(text: str, max_chars: int) -> Iterator[str]:
    """Yield the chunks of a Markdown text; fences are closed and reopened at the cuts.

    So code stays code in the next chunk.
    """
    open_fence: Fence | None = None
    for part in text_chunks.split_text(text, max_chars):
        prefix = open_fence.line + "\n" if open_fence else ""
        for line in part.removesuffix("\n").split("\n"):
            open_fence = find_next_fence(line, open_fence)
        chunk = prefix + part
        if open_fence:
            chunk += ("" if chunk.endswith("\n") else "\n") + open_fence.marks + "\n"
        yield chunk


def highlight_fences(
    text: str, max_chars: int = syntax_highlighting.MAX_HIGHLIGHTED_CHARS
) -> SafeString:
    """Return a plain text as HTML with the code in its fences highlighted, line by line."""
    return SafeString("\n".join(_render_blocks(text, max_chars)))


def _render_blocks(text: str, max_chars: int) -> Iterator[str]:
    open_fence: Fence | None = None
    block_lines: list[str] = []
    deadline = syntax_highlighting.make_deadline()
    for line in text.split("\n"):
        fence_after = find_next_fence(line, open_fence)
        if fence_after == open_fence:
            block_lines.append(line)
            continue
        if block_lines:
            yield _render_block(block_lines, open_fence, max_chars, deadline)
        block_lines, open_fence = [], fence_after
        yield f'<span class="c">{escape(line)}</span>'
    if block_lines:
        yield _render_block(block_lines, open_fence, max_chars, deadline)


def _render_block(
    lines: list[str], open_fence: Fence | None, max_chars: int, deadline: float
) -> str:
    text = "\n".join(lines)
    return str(
        syntax_highlighting.highlight_code(text, open_fence.language, max_chars, deadline=deadline)
        if open_fence
        else escape(text)
    )


def _get_first_word(info_string: str) -> str:
    return info_string.split(maxsplit=1)[0] if info_string else ""

"""Splits long texts into chunks."""

from __future__ import annotations

from collections.abc import Iterator


def split_text(text: str, max_chars: int) -> Iterator[str]:
    """Yield the chunks of a text, in order, each of at most ``max_chars`` characters.

    A chunk ends at a line end where its last half contains one. Joined they are the text.
    """
    start = 0
    while start < len(text):
        end = start + max_chars
        if end < len(text):
            line_end = text.rfind("\n", start + max_chars // 2, end)
            end = line_end + 1 if line_end >= 0 else end
        yield text[start:end]
        start = end

"""Where a long text is cut."""

from __future__ import annotations

from collections.abc import Iterator


def parts(text: str, most: int) -> Iterator[str]:
    """Yield the parts of a text, in order, each of at most so many characters.

    They end at a line's end where the last half of one holds any. Joined they are the text.
    """
    at = 0
    while at < len(text):
        end = at + most
        if end < len(text):
            line = text.rfind("\n", at + most // 2, end)
            end = line + 1 if line >= 0 else end
        yield text[at:end]
        at = end

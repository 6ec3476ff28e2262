"""Where a long text is cut, so that each part can be shown alone."""

from __future__ import annotations

from collections.abc import Iterator

from jpweb.runtime.prose import fences


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


def markdown(text: str, most: int) -> Iterator[str]:
    """Yield the parts of a Markdown text, with fences closed and opened again where it is cut.

    So what is code in one stays code in the next.
    """
    inside: fences.Fence | None = None
    for part in parts(text, most):
        opened = inside.line + "\n" if inside else ""
        for line in part.removesuffix("\n").split("\n"):
            inside = fences.step(line, inside)
        whole = opened + part
        if inside:
            whole += ("" if whole.endswith("\n") else "\n") + inside.marks + "\n"
        yield whole

"""What went wrong, in one line, whoever raised it."""

from __future__ import annotations

_LONGEST = 500


def reason(error: BaseException) -> str:
    """Return what an error says; of a group, what its first error says; else its name."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = " ".join(str(error).split())
    return text[:_LONGEST] or type(error).__name__

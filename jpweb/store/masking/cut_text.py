"""Text of columns that may be the beginning of a longer one, so that it may end within a secret."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

#: Columns that may hold the beginning of a longer text, with the characters of the shortest one.
CUT_CHARS = {"title": 60, "problem": 1000}
#: Characters of a secret's beginning that the end of a cut text may show.
_MIN_CUT_CHARS = 4


def can_be_cut(column: str, text: str) -> bool:
    """Tell whether the text of a column may be the beginning of a longer one."""
    # A marker, in brackets, may have made it shorter than what was cut.
    return len(text) >= CUT_CHARS[column] or text.endswith("…") or "[" in text


def find_cut_end(text: str, secrets: Iterable[str]) -> tuple[str, int] | None:
    """Return the secret whose beginning ends a text, and the characters of that; None without.

    Of several that fit, the longest beginning counts.
    """
    visible_text = text.rstrip("…")
    cut_end, longest_length = None, _MIN_CUT_CHARS - 1
    for secret in secrets:
        for length in range(min(len(secret), len(visible_text)), longest_length, -1):
            if visible_text.endswith(secret[:length]):
                cut_end, longest_length = (secret, length), length
                break
    return cut_end


def replace_cut_end(text: str, markers: Mapping[str, str]) -> str:
    """Return a text whose end may be the beginning of a secret, with its marker there instead.

    ``markers`` are those of the secrets.
    """
    cut_end = find_cut_end(text, markers)
    if cut_end is None:
        return text
    secret, length = cut_end
    return f"{text.rstrip('…')[:-length]}{markers[secret]}"

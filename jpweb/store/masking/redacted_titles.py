"""Titles of mirrored conversations with redactions: files keep the old ones."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jpweb.store.masking.replacement import REDACTION_MARKER
from jpweb.store.models import Conversation, Redaction

#: Characters of the longest title of a row.
MAX_TITLE_CHARS = 500
_MARKER_START = REDACTION_MARKER.partition("{")[0]
#: How a title ends whose last characters are the beginning of a marker.
_CUT_MARKERS = tuple(_MARKER_START[:length] for length in range(len(_MARKER_START) - 1, 0, -1))
#: The mark of a suspected secret, which hides text of the file's title as a redaction does.
_MASK = re.compile(r"\[masked [^\[\]]+, [0-9a-f]{8}(?:, [0-9]+ characters)?\]")


def choose_title(conversation: Conversation, file_title: str) -> str:
    """Return the title of the file; that of the row where it is the file's title, redacted.

    A title that was redacted as a whole stays whatever jp calls the conversation. Masks match any
    text of the file's title. A query runs only where the row's title holds a marker.
    """
    is_cut = len(conversation.title) == MAX_TITLE_CHARS
    has_cut_marker = is_cut and conversation.title.endswith(_CUT_MARKERS)
    if _MARKER_START not in conversation.title and not has_cut_marker:
        return file_title
    redactions = Redaction.objects.filter(conversation=conversation)
    reasons = set(redactions.values_list("reason", flat=True))
    kept_parts = _split_at_markers(conversation.title, reasons)
    if is_cut:
        kept_parts[-1:] = _split_at_cut_marker(kept_parts[-1])
    if len(kept_parts) == 1:
        return file_title
    kept_parts = [text for part in kept_parts for text in _MASK.split(part)]
    is_same = _can_fit_between(kept_parts, file_title, is_cut=is_cut)
    return conversation.title if is_same else file_title


def _split_at_markers(title: str, reasons: set[str]) -> list[str]:
    """Return the parts of a title before, between and after its markers with these reasons."""
    markers = [
        re.escape(REDACTION_MARKER)
        .replace(re.escape("{person_name}"), ".+?")
        .replace(re.escape("{reason}"), re.escape(reason))
        for reason in sorted(reasons, key=len, reverse=True)  # a reason may hold a later marker
    ]
    return re.split("|".join(markers), title, flags=re.DOTALL) if markers else [title]


def _split_at_cut_marker(end: str) -> list[str]:
    """Return the parts of a cut title's end before and after the start of a cut marker."""
    if _MARKER_START in end:
        return end.split(_MARKER_START, maxsplit=1)
    start = next((start for start in _CUT_MARKERS if end.endswith(start)), "")
    return [end.removesuffix(start), ""] if start else [end]


def _can_fit_between(kept_parts: Sequence[str], title: str, *, is_cut: bool) -> bool:
    """Tell whether a title has these parts in their order, with text in place of each marker.

    ``is_cut``: what follows the last marker, or that marker itself, is not whole.
    """
    first_part, *middle_parts, last_part = kept_parts
    if not title.startswith(first_part):
        return False
    end = len(first_part)
    for part in middle_parts:
        part_start = title.find(part, end + 1)
        if part_start < 0:
            return False
        end = part_start + len(part)
    return is_cut or (title.endswith(last_part) and len(title) - len(last_part) > end)

"""Masks secrets in columns that repeat an event, and puts them back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jpweb.store import db_text
from jpweb.store.masking import cut_text, replacement

#: Characters of the longest title of a conversation.
_MAX_TITLE_CHARS = 500
#: How each marker of a suspected secret begins.
_MASK_START = "[masked "


def replace_all(value: Any, replacements: Mapping[str, str]) -> Any:
    """Return a JSON value with each key of ``replacements`` replaced, the longest first.

    Characters that a database refuses are left out.
    """
    for text in sorted(replacements, key=len, reverse=True):
        clean_text = db_text.clean_text(replacements[text])
        value = replacement.replace_strings(value, [text], clean_text)
    return value


def mask_title(title: str, markers: Mapping[str, str]) -> str:
    """Return the title of a conversation, masked; its end too where that may cut a secret."""
    masked_title: str = replace_all(title, markers)[:_MAX_TITLE_CHARS]
    if cut_text.can_be_cut("title", title):
        masked_title = mask_cut_end(masked_title, markers)
    return masked_title[:_MAX_TITLE_CHARS]


def mask_cut_end(text: str, markers: Mapping[str, str]) -> str:
    """Return a text with its end masked where that is the beginning of a secret.

    The marker says how many characters it replaces, so that ``unmask`` returns no others.
    """
    cut_end = cut_text.find_cut_end(text, markers)
    if cut_end is None:
        return text
    secret, length = cut_end
    visible_text = text.rstrip("…")
    marker = f"{markers[secret][:-1]}, {length} characters]"
    return f"{visible_text[:-length]}{marker}{text[len(visible_text) :]}"


def unmask(value: Any, secrets_by_marker: Mapping[str, str]) -> Any:
    """Return a JSON value with secrets in place of their markers, as it was before its masks."""
    if isinstance(value, str):
        for marker, secret in secrets_by_marker.items():
            value = _unmask_cut_end(value, marker, secret)
    return replace_all(value, secrets_by_marker)


def list_unmasked(value: Any, secrets_by_marker: Mapping[str, str], limit: int | None) -> list[Any]:
    """Return the candidates of a JSON value before its masks.

    Several values only where ``limit`` has cut a marker that more than one secret can have.
    """
    texts = replacement.list_strings(value)
    if not any(_MASK_START in text for text in texts) and not _find_cut_marker(value, limit):
        return [value]
    unmasked_text = unmask(value, secrets_by_marker)
    cut_marker = _find_cut_marker(value, limit)
    if not cut_marker or not unmasked_text.endswith(cut_marker):
        return [unmasked_text]
    begin = unmasked_text.removesuffix(cut_marker)
    endings = [
        db_text.clean_text(secret)
        for marker, secret in secrets_by_marker.items()
        if marker.startswith(cut_marker) or cut_marker.startswith(marker[:-1])
    ]
    return [begin + end_text for end_text in endings] or [unmasked_text]


def _find_cut_marker(value: Any, limit: int | None) -> str:
    """Return the beginning of a marker with which a text of so many characters ends, or nothing."""
    if not isinstance(value, str) or len(value) != limit:
        return ""
    _, bracket, end = value.rpartition("[")
    start = f"{bracket}{end}"
    is_marker = start.startswith(_MASK_START) or _MASK_START.startswith(start)
    return start if is_marker and "]" not in start else ""


def _unmask_cut_end(text: str, marker: str, secret: str) -> str:
    pattern = rf"{re.escape(marker[:-1])}, ([0-9]{{1,5}}) characters\]"
    return re.sub(pattern, lambda match: db_text.clean_text(secret[: int(match[1])]), text)

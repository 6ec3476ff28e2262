"""Finds strings that a redaction leaves: in names, ids and times of events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from jpweb.stream.events import Element

#: Places that a sentence names; the preview names all.
_MAX_NAMED = 10
#: The field of an element that says its kind, in JP's words.
_KIND_FIELD = "type"


def list_kept_fields(element: Element, strings: Sequence[str]) -> list[str]:
    """Return the fields of an element, after its redaction, that still have one of the strings.

    Numbers count as they are written, also where a redaction reads them in another spelling.
    """
    if not strings:
        return []
    try:
        value = json.loads(element.raw, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return [element.tag] if _has_string([element.raw], strings) else []
    fields = value if isinstance(value, dict) else {element.tag: value}
    return [
        name
        for name, field in fields.items()
        if name != _KIND_FIELD and _has_string(_list_values(field), strings)
    ]


def join_first(places: Sequence[str]) -> str:
    """Return the first of these places, and how many others there are."""
    named = ", ".join(places[:_MAX_NAMED])
    return f"{named} and {len(places) - _MAX_NAMED} more" if len(places) > _MAX_NAMED else named


def _list_values(value: Any) -> list[str]:
    """Return the texts in a JSON value; its keys are words of JP's or jpweb's."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list | dict):
        items = value.values() if isinstance(value, dict) else value
        return [text for item in items for text in _list_values(item)]
    return []


def _has_string(texts: Iterable[str], strings: Sequence[str]) -> bool:
    return any(string in text for text in texts for string in strings)

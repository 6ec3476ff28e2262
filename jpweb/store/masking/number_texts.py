"""Numbers as text, so that a redaction finds their digits.

A number in which a string is replaced becomes a text. Masks of suspected secrets leave numbers as
they are: they are taken off again, and a number would come back as a text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

#: Key of jpweb's note in metadata, and the only one in it that holds content with numbers. The
#: others, such as ids and seconds, are read again.
_NOTE_KEY, _CONTENT_KEY = "jpweb", "arguments"


def format_number(value: Any) -> str:
    """Return a number as JSON has it, as pages, search and exports do; "" for any other value."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return json.dumps(value) if is_number else ""


def convert_numbers(value: Any, strings: Sequence[str]) -> Any:
    """Return a JSON value in which each number that has one of these strings is a text."""
    if text := format_number(value):
        return text if any(string in text for string in strings) else value
    if isinstance(value, list):
        return [convert_numbers(item, strings) for item in value]
    if isinstance(value, dict):
        return {key: convert_numbers(item, strings) for key, item in value.items()}
    return value


def convert_metadata_numbers(metadata: dict[str, Any], strings: Sequence[str]) -> dict[str, Any]:
    """Return an event's metadata as ``convert_numbers`` does, but for numbers of jpweb's own."""
    converted_metadata: dict[str, Any] = convert_numbers(metadata, strings)
    note = metadata.get(_NOTE_KEY)
    if not isinstance(note, dict):
        return converted_metadata
    arguments = {key: note[key] for key in (_CONTENT_KEY,) if key in note}
    return converted_metadata | {_NOTE_KEY: note | convert_numbers(arguments, strings)}

"""Finds strings that a redaction leaves: in names, ids and times of events, and in other tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import unquote_plus

from jpweb.store.choices import Act
from jpweb.store.ledger.entries import read_details
from jpweb.store.masking import replacement
from jpweb.store.models import Conversation, LedgerEntry, SavedSearch
from jpweb.stream.events import Element

#: Acts of a conversation whose entries quote a person, and the keys of the quotes in their details.
_QUOTING_ACTS, _QUOTE_KEYS = (Act.REDACTED, Act.SUSPICION_DISMISSED), ("reason", "note")
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
    place_names = ", ".join(places[:_MAX_NAMED])
    return (
        f"{place_names} and {len(places) - _MAX_NAMED} more"
        if len(places) > _MAX_NAMED
        else place_names
    )


def count_kept_columns(conversation: Conversation, strings: Sequence[str]) -> dict[str, int]:
    """Return in how many rows of other tables the strings stay, by place; without those of none.

    Saved searches are those of members of the workspace. The ledger's are of this conversation.
    """
    entries = LedgerEntry.objects.filter(conversation_id=conversation.pk, act__in=_QUOTING_ACTS)
    searches = SavedSearch.objects.filter(
        person__memberships__workspace=conversation.workspace_id
    ).values_list("name", "query")
    texts_by_place: dict[str, Iterable[list[str]]] = {
        "labels": [replacement.list_strings(conversation.labels)],
        "folder_name": [[conversation.source]],
        "ledger_entries": (_list_quotes(*row) for row in entries.values_list("text", "text_hash")),
        "saved_searches": ([name, unquote_plus(query)] for name, query in searches),
    }
    counts = {
        place: sum(_has_string(texts, strings) for texts in rows)
        for place, rows in texts_by_place.items()
    }
    return {place: count for place, count in counts.items() if count}


def _list_quotes(text: str, text_hash: str) -> list[str]:
    """Return the texts of a person in a ledger entry."""
    details = read_details(text, text_hash)
    return [str(details.get(name, "")) for name in _QUOTE_KEYS]


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

"""Replaces the content of one element by a marker, in the shape that JP reads.

What names an event stays: its kind, time, ids, the tool's name and the type of its answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from jpweb.store.masking import number_texts
from jpweb.store.masking.json_texts import count_in_text, list_keys, map_texts, replace_in_text
from jpweb.stream import base64_fields, wire
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    Compaction,
    ConfigDelta,
    ConversationEvent,
    Element,
    LegacyEvents,
    ToolCallRequest,
    ToolCallResponse,
)
from jpweb.stream.inquiry import Answered, InquiryRequest, InquiryResponse

#: The keys of a kind's fields that are content.
_CONTENT_KEYS: dict[type, tuple[str, ...]] = {
    ChatRequest: ("content", "schema"),
    ChatResponse: ("message", "reasoning", "data"),
    ToolCallRequest: ("arguments",),
    ToolCallResponse: ("content",),
    InquiryRequest: ("question",),
    InquiryResponse: ("answer",),
    ConfigDelta: ("delta",),
    Compaction: ("summary", "reasoning", "tool_calls"),
}
#: Place of content in a field, or an event, of another layout.
OTHER_PLACE = "other"
_KNOWN_PLACES = {"metadata", "note", *(key for keys in _CONTENT_KEYS.values() for key in keys)}
#: Keys of a question that say how its answer is used, and those that are no content.
_QUESTION_SCOPE_KEYS = ("exclusive", "persistence")
_QUESTION_FORM_KEYS = ("answer_type", *_QUESTION_SCOPE_KEYS)
#: Key of a call's metadata: its arguments as the tool's own formatter wrote them, in base64.
_FORMATTED_KEY = "rendered_arguments"
#: Key of the marker where a whole object is replaced.
_MARKER_KEY = "redacted"
#: Keys of every event beside the fields of its kind.
_EVENT_KEYS = ("type", "timestamp", "metadata")
#: Keys of an unknown kind whose values are no content.
_NAMING_KEYS = ("type", "timestamp")
#: Text in place of redacted content: the person who redacted it, and the reason.
REDACTION_MARKER = "[redacted by {person_name}: {reason}]"
#: Half of a character, which UTF-8 does not have.
_SURROGATE = re.compile("[\ud800-\udfff]")
#: A key of this form names a part, such as ``old_text``; any other may be content itself.
_PART_NAME = re.compile(r"[a-z_$][A-Za-z_]{0,29}")
#: Words of a request's JSON Schema that are no content.
_SCHEMA_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
#: Shorter strings of a replaced payload are not looked for elsewhere.
_MIN_COPY_CHARS = 4


class Replacement(NamedTuple):
    """A new element, the number of replacements by place, and the strings that were replaced.

    ``keys`` are those of a call's arguments: copies of these have them, and no other text is
    searched for them. Numbers are among the strings as JSON has them.
    """

    element: Element
    counts: dict[str, int]
    strings: tuple[str, ...]
    keys: frozenset[str] = frozenset()


def list_places(counts: Mapping[str, int]) -> list[str]:
    """Return the names of the places of replacements; any that jpweb does not know is ``other``.

    Names of fields and kinds that a file made up may be content themselves.
    """
    return sorted({place if place in _KNOWN_PLACES else OTHER_PLACE for place in counts})


def list_strings(value: Any) -> list[str]:
    """Return every string in a JSON value, keys of objects too."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for item in value for text in list_strings(item)]
    if isinstance(value, dict):
        return [*value, *(text for item in value.values() for text in list_strings(item))]
    return []


def replace_strings(value: Any, strings: Sequence[str], marker: str) -> Any:
    """Return a JSON value with these strings replaced, in keys of objects too."""
    return map_texts(lambda text: replace_in_text(text, strings, marker), value)


def replace_keys(value: Any, keys: Collection[str], marker: str) -> Any:
    """Return a JSON value with these keys replaced in its objects."""
    if isinstance(value, list):
        return [replace_keys(item, keys, marker) for item in value]
    if isinstance(value, dict):
        return {
            marker if key in keys else key: replace_keys(item, keys, marker)
            for key, item in value.items()
        }
    return value


def replace_whole(element: Element, marker: str) -> Replacement:
    """Replace all content of an element. The caller has checked that it has some."""
    event = element.body
    if not isinstance(event, ConversationEvent):
        value = {"type": element.tag, _MARKER_KEY: marker}
        return Replacement(
            _read_json(value), {element.tag: 1}, _select_copies(_list_texts(element))
        )
    fields = event.kind.to_fields()
    counts: dict[str, int] = {}
    strings: list[str] = []
    for key in list_content_keys(event):
        strings += _list_copied_texts(event, key, fields[key])
        fields[key] = _make_placeholder(event, fields[key], marker)
        counts[key] = 1
    for key, value in read_unread_fields(element).items():
        strings += _list_values(value)
        counts[key] = 1
    note = event.note
    if isinstance(note.get("note"), str):
        counts["note"] = 1
        strings.append(note["note"])
        note = note | {"note": marker}
    copies = _select_copies(strings)
    keys = _list_argument_keys(event)
    note = replace_strings(note, copies, marker)
    # Metadata of providers holds content in forms that cannot be searched, such as signatures.
    return Replacement(_write(event, fields, {"jpweb": note} if note else {}), counts, copies, keys)


def replace_in_element(
    element: Element, strings: Sequence[str], marker: str, *, has_numbers: bool = False
) -> Replacement:
    """Replace these strings in the content of an element; ``counts`` is empty without one.

    ``has_numbers``: also in numbers, which become texts.
    """
    digits = strings if has_numbers else ()
    event = element.body
    if not isinstance(event, ConversationEvent):
        return _replace_in_raw(element, strings, digits, marker)
    fields = event.kind.to_fields()
    counts: dict[str, int] = {}
    for key in list_content_keys(event):
        original_value = number_texts.convert_numbers(fields[key], digits)
        fields[key] = (
            _replace_in_question(original_value, strings, marker)
            if isinstance(event.kind, InquiryRequest)
            else replace_strings(original_value, strings, marker)
        )
        counts[key] = _count(original_value, strings) if fields[key] != original_value else 0
    metadata = number_texts.convert_metadata_numbers(decode_metadata(event.metadata), digits)
    counts["metadata"] = _count(metadata, strings)
    for key, value in read_unread_fields(element).items():  # the new element lacks them
        counts[key] = _count(number_texts.convert_numbers({key: value}, digits), strings)
    counts = {key: number for key, number in counts.items() if number}
    if not counts:
        return Replacement(element, {}, tuple(strings))
    if counts.get("metadata"):
        metadata = replace_strings(metadata, strings, marker)
        return Replacement(
            _write(event, fields, _encode_metadata(metadata)), counts, tuple(strings)
        )
    return Replacement(_write(event, fields, event.metadata), counts, tuple(strings))


def decode_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return an event's metadata with the formatted arguments as text, not in base64."""
    encoded_text = metadata.get(_FORMATTED_KEY)
    if not isinstance(encoded_text, str):
        return metadata
    return metadata | {_FORMATTED_KEY: base64_fields.decode_text(encoded_text)}


def _encode_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    text = metadata.get(_FORMATTED_KEY)
    if not isinstance(text, str):
        return metadata
    return metadata | {_FORMATTED_KEY: base64_fields.encode_text(text)}


def read_unread_fields(element: Element) -> dict[str, Any]:
    """Return the fields of an event's text that its kind does not read; JP's file may have any.

    An element that is written again has none of them.
    """
    event = element.body
    if not isinstance(event, ConversationEvent):
        return {}
    known_names = {*event.kind.to_fields(), *_EVENT_KEYS}
    try:
        value = json.loads(element.raw)
    except (ValueError, RecursionError):
        return {}
    return {key: value[key] for key in value if key not in known_names and value[key] is not None}


def list_content_keys(event: ConversationEvent) -> list[str]:
    """Return the keys of the kind's fields that are content, and that the event has."""
    if isinstance(event.kind, InquiryResponse) and not isinstance(event.kind.outcome, Answered):
        return []
    fields = event.kind.to_fields()
    return [key for key in _CONTENT_KEYS.get(type(event.kind), ()) if key in fields]


def _select_copies(strings: Iterable[str]) -> tuple[str, ...]:
    """Return the strings to look for elsewhere, the longest first."""
    copies = {text for text in strings if len(text) >= _MIN_COPY_CHARS}
    return tuple(sorted(copies, key=len, reverse=True))


def _list_copied_texts(event: ConversationEvent, key: str, value: Any) -> list[str]:
    """Return the strings of a content field that other columns may repeat: no words of its form."""
    if isinstance(event.kind, InquiryRequest):
        options = value["answer_type"].get("options", ())
        parts = [value[name] for name in value if name not in _QUESTION_FORM_KEYS]
        return _list_values([*parts, *(part for option in options for part in option.values())])
    texts = _list_values(value)
    return [text for text in texts if text not in _SCHEMA_TYPES] if key == "schema" else texts


def _list_texts(element: Element) -> list[str]:
    """Return the content of an element of another layout, as written and out of base64."""
    if isinstance(element.body, LegacyEvents):
        return [
            text
            for event in element.body.events
            for key in list_content_keys(event)
            for text in _list_copied_texts(event, key, event.kind.to_fields()[key])
        ]
    try:
        texts = _list_values(json.loads(element.raw), _NAMING_KEYS)
    except (ValueError, RecursionError):
        return []
    return [*texts, *map(base64_fields.decode_content, texts)]


def _list_values(value: Any, skipped_keys: Sequence[str] = ()) -> list[str]:
    """Return the texts and numbers in a JSON value, and the keys that are not names of its parts.

    The values of ``skipped_keys`` are left out.
    """
    if isinstance(value, str):
        return [value]
    if number := number_texts.format_number(value):
        return [number]
    if isinstance(value, list):
        return [text for item in value for text in _list_values(item, skipped_keys)]
    if isinstance(value, dict):
        keys = [key for key in value if not _PART_NAME.fullmatch(key)]
        items = [value[key] for key in value if key not in skipped_keys]
        return [*keys, *(text for item in items for text in _list_values(item, skipped_keys))]
    return []


def _list_argument_keys(event: ConversationEvent) -> frozenset[str]:
    """Return the keys of a tool call's arguments, also of the objects in them."""
    if not isinstance(event.kind, ToolCallRequest):
        return frozenset()
    return frozenset(list_keys(event.kind.arguments))


def _replace_in_question(
    question: dict[str, Any], strings: Sequence[str], marker: str
) -> dict[str, Any]:
    """Replace strings in the texts of a question; the names of its parts and its type stay."""
    replaced_fields = {
        name: value if name in _QUESTION_FORM_KEYS else replace_strings(value, strings, marker)
        for name, value in question.items()
    }
    return replaced_fields | {
        "answer_type": _map_options(
            lambda text: replace_in_text(text, strings, marker), question["answer_type"]
        )
    }


def _map_options(change: Callable[[str], str], answer_type: dict[str, Any]) -> dict[str, Any]:
    """Return an answer type with the texts of its options changed; the names of its parts stay."""
    options = answer_type.get("options")
    if options is None:
        return answer_type
    return answer_type | {
        "options": [
            {name: map_texts(change, part) for name, part in option.items()} for option in options
        ]
    }


def _make_placeholder(event: ConversationEvent, value: Any, marker: str) -> Any:
    if isinstance(event.kind, InquiryRequest):
        scope_fields = {name: value[name] for name in _QUESTION_SCOPE_KEYS if name in value}
        answer_type = _map_options(lambda _: marker, value["answer_type"])
        return {"text": marker, "answer_type": answer_type} | scope_fields
    if isinstance(value, dict):
        return {_MARKER_KEY: marker}
    return marker


def _write(event: ConversationEvent, fields: dict[str, Any], metadata: dict[str, Any]) -> Element:
    kind = type(event.kind).from_fields(fields)
    return wire.write_element(replace(event, kind=kind, metadata=metadata))


def _replace_in_raw(
    element: Element, strings: Sequence[str], digits: Sequence[str], marker: str
) -> Replacement:
    """Replace strings in an element of another layout, and ``digits`` in its numbers.

    An element that is not JSON, or is nested too deeply to be read, is searched as text.
    """
    try:
        value = number_texts.convert_numbers(json.loads(element.raw), digits)
        return _replace_in_value(element, value, strings, marker)
    except (ValueError, RecursionError):
        count = count_in_text(element.raw, strings)
        text = replace_in_text(element.raw, strings, marker)
        return Replacement(wire.read_element(text), {element.tag: count} if count else {}, ())


def _replace_in_value(
    element: Element, value: Any, strings: Sequence[str], marker: str
) -> Replacement:
    """Replace strings in the JSON value of an element, also inside base64."""

    def replace_decoded(text: str) -> str:
        decoded_text = base64_fields.decode_content(text)
        changed_text = replace_in_text(decoded_text, strings, marker)
        if changed_text == decoded_text:
            return text
        return changed_text if decoded_text == text else base64_fields.encode_text(changed_text)

    count = _count(base64_fields.map_strings(base64_fields.decode_content, value), strings)
    if not count:
        return Replacement(element, {}, tuple(strings))
    return Replacement(
        _read_json(map_texts(replace_decoded, value)),
        {element.tag: count},
        tuple(strings),
    )


def _read_json(value: Any) -> Element:
    """Return the element of a JSON value; halves of characters are escaped, as in JP's files."""
    text = json.dumps(value, indent=2, ensure_ascii=False).replace("\n", "\n  ")
    return wire.read_element(_SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def _count(value: Any, strings: Sequence[str]) -> int:
    return sum(count_in_text(text, strings) for text in list_strings(value))

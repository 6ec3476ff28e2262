"""Codec of one element from and to JP's JSON (docs/jp-format.md, Elements, Base64).

A bad element does not affect the others: it becomes a ``BrokenEvent`` with its text kept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from jpweb.stream import base64_fields, timestamps
from jpweb.stream.answer_type import Secret, Text
from jpweb.stream.errors import MalformedElement
from jpweb.stream.event_kind import (
    Fields,
    can_exceed_depth,
    check_storable,
    read_mapping,
    read_text,
)
from jpweb.stream.events import (
    KINDS,
    BrokenEvent,
    ConfigDelta,
    ConversationEvent,
    Element,
    ElementBody,
    EventKind,
    ToolCallRequest,
    UnknownEvent,
)
from jpweb.stream.inquiry import Answered, InquiryRequest, InquiryResponse
from jpweb.stream.wire import fast_codec, legacy

_CONTAINER_TYPES = (dict, list)
_SHALLOW_DEPTH = 60


def read_element(raw_text: str) -> Element:
    """Return the element of a JSON text. Never fails."""
    event = fast_codec.read_event(raw_text)
    return _read_any_shape(raw_text) if event is None else Element(raw_text, event)


def _read_any_shape(raw_text: str) -> Element:
    """Return the element of a JSON text of any shape."""
    try:
        value = msgspec.json.decode(raw_text)
    except (ValueError, RecursionError) as error:
        return Element(raw_text, BrokenEvent("unknown", f"its JSON cannot be read: {error}"))
    tag = value.get("type") if isinstance(value, dict) else None
    tag = tag if isinstance(tag, str) else "unknown"
    layout = None if tag in KINDS else legacy.recognize_layout(value)
    try:
        if can_exceed_depth(raw_text) and not _is_shallow(value):
            check_storable(value)
        return Element(
            raw_text, legacy.read_legacy(layout, value) if layout else _make_body(tag, value)
        )
    except MalformedElement as malformation:
        return Element(raw_text, BrokenEvent(layout or tag, str(malformation)))


def _is_shallow(value: Any) -> bool:
    """Tell whether few containers are nested in each other, as in all long configurations."""
    level = [value]
    for _ in range(_SHALLOW_DEPTH):
        level = [
            child
            for parent in level
            for child in (parent.values() if type(parent) is dict else parent)
            if type(child) in _CONTAINER_TYPES
        ]
        if not level:
            return True
    return False


def write_element(event: ConversationEvent, *, is_compatible: bool = False) -> Element:
    """Return the element of an event, its text in the form that JP writes inside the array.

    ``is_compatible`` is for a workspace that a jp before RFD 082 opens too: a
    response without an answer gets ``"answer": null``, a secret question is written as a text one
    and noted as secret in its metadata, from which it is read as secret again.

    Ids of RFD 097 and 098 are not written: JP before them refuses a ``turn_start`` that has one.
    Raises MalformedElement for values that JP could not read again: too deep, not finite, half a
    surrogate.
    """
    if is_compatible:
        event = _note_secret(event)
    stamp, tag = {"timestamp": event.timestamp}, {"type": event.kind.TAG}
    value = (tag | stamp if event.kind.OVERLAY else stamp | tag) | event.kind.to_fields()
    if event.metadata:
        value["metadata"] = event.metadata
    if is_compatible:
        _make_compatible(event.kind, value)
    check_storable(value)
    try:
        for key in _get_encoded_keys(event.kind) & value.keys():
            value[key] = base64_fields.map_strings(base64_fields.encode_text, value[key])
        json_text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError as error:
        raise MalformedElement(f"text that is not Unicode: {error}") from error
    return Element(json_text.replace("\n", "\n  "), event)


def _note_secret(event: ConversationEvent) -> ConversationEvent:
    """Return the event with the note that marks its text question as a secret one."""
    kind = event.kind
    if not isinstance(kind, InquiryRequest) or not isinstance(kind.question.answer_type, Secret):
        return event
    note = {**event.note, "secret": True}
    return replace(event, metadata=event.metadata | {"jpweb": note})


def _make_compatible(kind: EventKind, value: dict[str, Any]) -> None:
    match kind:
        case InquiryResponse(outcome=outcome) if not isinstance(outcome, Answered):
            value["answer"] = None
        case InquiryRequest(question=question) if isinstance(question.answer_type, Secret):
            value["question"]["answer_type"] = Text().to_fields()
        case _:
            pass


def _make_body(tag: str, value: Any) -> ElementBody:
    return _make_event(KINDS[tag], value) if tag in KINDS else UnknownEvent(tag, value)


def _make_event(kind: type[EventKind], value: Fields) -> ConversationEvent:
    stamp = _read_timestamp(kind, value)
    decoded_fields = dict(value)
    for key in _get_encoded_keys(kind) & value.keys():
        decode = base64_fields.decode_content if key == "content" else base64_fields.decode_text
        decoded_fields[key] = base64_fields.map_strings(decode, value[key])
    metadata = _read_metadata(kind, decoded_fields)
    if kind is InquiryRequest:
        _restore_secret(decoded_fields, metadata)
    elif kind is ToolCallRequest:
        metadata = legacy.read_tool_answers(value) | metadata
    return ConversationEvent(
        stamp,
        kind.from_fields(decoded_fields),
        metadata,
        _read_link(value, "event_id"),
        _read_link(value, "request_id"),
    )


def _restore_secret(decoded_fields: dict[str, Any], metadata: dict[str, Any]) -> None:
    """Undo the change that ``compatible`` makes to a secret question."""
    match decoded_fields, metadata:
        case {"question": {"answer_type": {"type": Text.TAG}}}, {"jpweb": {"secret": True}}:
            decoded_fields["question"] = decoded_fields["question"] | {
                "answer_type": Secret().to_fields()
            }
        case _:
            pass


def _read_link(value: Fields, key: str) -> str | None:
    link = value.get(key)
    return link if isinstance(link, str) and link else None


def _get_encoded_keys(kind: EventKind | type[EventKind]) -> frozenset[str]:
    return kind.ENCODED | {"metadata"}


def _read_metadata(kind: type[EventKind], decoded_fields: Fields) -> dict[str, Any]:
    if kind.OVERLAY and not isinstance(decoded_fields.get("metadata"), dict):
        return {}  # JP writes no metadata of overlays, and ignores any
    return read_mapping(decoded_fields, "metadata")


def _read_timestamp(kind: type[EventKind], value: Fields) -> str:
    if kind is ConfigDelta:
        timestamp = value.get("timestamp")
        return timestamp if isinstance(timestamp, str) else ""
    stamp = read_text(value, "timestamp")
    if timestamps.parse_timestamp(stamp) is None:
        raise MalformedElement(f"“timestamp” cannot be read: {stamp[:60]!r}")
    return stamp

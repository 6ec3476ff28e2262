"""One element from and to JP's JSON (jp-storage-format, sections 6, 11 to 16).

One bad element never costs the others: it becomes a ``BrokenEvent`` with its text kept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from jpweb.stream import armour, timestamps
from jpweb.stream.answers import Secret, Text
from jpweb.stream.errors import BrokenElement
from jpweb.stream.events import (
    KINDS,
    Body,
    BrokenEvent,
    ConfigDelta,
    ConversationEvent,
    Element,
    EventKind,
    ToolCallRequest,
    UnknownEvent,
)
from jpweb.stream.inquiry import Answered, InquiryRequest, InquiryResponse
from jpweb.stream.kinds import Fields, check_storable, mapping, may_be_deep, text
from jpweb.stream.wire import layouts, shapes

_CONTAINERS = (dict, list)
_SHALLOW = 60


def read(raw: str) -> Element:
    """Make of an element's text what it is. Never fails."""
    usual = shapes.read(raw)
    return _read(raw) if usual is None else Element(raw, usual)


def _read(raw: str) -> Element:
    """Make of any element's text what it is, whatever its shape."""
    try:
        value = msgspec.json.decode(raw)
    except (ValueError, RecursionError) as error:
        return Element(raw, BrokenEvent("unknown", f"its JSON cannot be read: {error}"))
    tag = value.get("type") if isinstance(value, dict) else None
    tag = tag if isinstance(tag, str) else "unknown"
    layout = None if tag in KINDS else layouts.recognise(value)
    try:
        if may_be_deep(raw) and not _is_shallow(value):
            check_storable(value)
        return Element(raw, layouts.read(layout, value) if layout else _body(tag, value))
    except BrokenElement as problem:
        return Element(raw, BrokenEvent(layout or tag, str(problem)))


def _is_shallow(value: Any) -> bool:
    """Tell whether few containers stand inside each other; long configurations are all so."""
    level = [value]
    for _ in range(_SHALLOW):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) in _CONTAINERS
        ]
        if not level:
            return True
    return False


def write(event: ConversationEvent, *, compatible: bool = False) -> Element:
    """Return the element of an event, its text in the form that JP writes inside the array.

    ``compatible`` is for a workspace that a jp before RFD 082 opens too (section 15.4): a response
    without an answer gets ``"answer": null``, a secret question is written as a text one and noted
    as secret in its metadata, from which it is read as secret again.

    Ids of RFD 097 and 098 are not written: JP before them refuses a ``turn_start`` that has one.
    Raises BrokenElement for what JP could not read again: too deep, not finite, half a surrogate.
    """
    if compatible:
        event = _noted(event)
    stamp, tag = {"timestamp": event.timestamp}, {"type": event.kind.TAG}
    value = (tag | stamp if event.kind.OVERLAY else stamp | tag) | event.kind.to_fields()
    if event.metadata:
        value["metadata"] = event.metadata
    if compatible:
        _make_compatible(event.kind, value)
    check_storable(value)
    try:
        for key in _encoded(event.kind) & value.keys():
            value[key] = armour.deep(armour.wrap, value[key])
        written = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError as error:
        raise BrokenElement(f"text that is not Unicode: {error}") from error
    return Element(written.replace("\n", "\n  "), event)


def _noted(event: ConversationEvent) -> ConversationEvent:
    """Return the event with the note from which a secret question is known again."""
    kind = event.kind
    if not isinstance(kind, InquiryRequest) or not isinstance(kind.question.answer_type, Secret):
        return event
    noted = {**event.note, "secret": True}
    return replace(event, metadata=event.metadata | {"jpweb": noted})


def _make_compatible(kind: EventKind, value: dict[str, Any]) -> None:
    match kind:
        case InquiryResponse(outcome=outcome) if not isinstance(outcome, Answered):
            value["answer"] = None
        case InquiryRequest(question=question) if isinstance(question.answer_type, Secret):
            value["question"]["answer_type"] = Text().to_fields()
        case _:
            pass


def _body(tag: str, value: Any) -> Body:
    return _event(KINDS[tag], value) if tag in KINDS else UnknownEvent(tag, value)


def _event(kind: type[EventKind], value: Fields) -> ConversationEvent:
    stamp = _timestamp(kind, value)
    decoded = dict(value)
    for key in _encoded(kind) & value.keys():
        change = armour.unwrap_content if key == "content" else armour.unwrap
        decoded[key] = armour.deep(change, value[key])
    metadata = _metadata(kind, decoded)
    if kind is InquiryRequest:
        _restore_secret(decoded, metadata)
    elif kind is ToolCallRequest:
        metadata = layouts.answers_beside(value) | metadata
    return ConversationEvent(
        stamp,
        kind.from_fields(decoded),
        metadata,
        _link(value, "event_id"),
        _link(value, "request_id"),
    )


def _restore_secret(decoded: dict[str, Any], metadata: dict[str, Any]) -> None:
    """Undo what ``compatible`` does to a secret question."""
    match decoded, metadata:
        case {"question": {"answer_type": {"type": Text.TAG}}}, {"jpweb": {"secret": True}}:
            decoded["question"] = decoded["question"] | {"answer_type": Secret().to_fields()}
        case _:
            pass


def _link(value: Fields, key: str) -> str | None:
    link = value.get(key)
    return link if isinstance(link, str) and link else None


def _encoded(kind: EventKind | type[EventKind]) -> frozenset[str]:
    return kind.ENCODED | {"metadata"}


def _metadata(kind: type[EventKind], decoded: Fields) -> dict[str, Any]:
    if kind.OVERLAY and not isinstance(decoded.get("metadata"), dict):
        return {}  # JP gives overlays none, and ignores what is there
    return mapping(decoded, "metadata")


def _timestamp(kind: type[EventKind], value: Fields) -> str:
    if kind is ConfigDelta:
        loose = value.get("timestamp")
        return loose if isinstance(loose, str) else ""
    stamp = text(value, "timestamp")
    if timestamps.parse(stamp) is None:
        raise BrokenElement(f"“timestamp” cannot be read: {stamp[:60]!r}")
    return stamp

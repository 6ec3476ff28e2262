"""Elements from and to JP's JSON (jp-storage-format, sections 6, 11 to 15).

One bad element never costs the others: it becomes a ``BrokenEvent`` with its text kept.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from jpweb.stream import armour, timestamps
from jpweb.stream.errors import BrokenElement, NotAStream
from jpweb.stream.events import (
    KINDS,
    BrokenEvent,
    ConfigDelta,
    ConversationEvent,
    Element,
    EventKind,
    UnknownEvent,
)
from jpweb.stream.fields import Fields, mapping, text

_SPLITTER = msgspec.json.Decoder(list[msgspec.Raw])


def split(data: bytes) -> list[str]:
    """Return the text of each element of an ``events.json``. Raises NotAStream."""
    try:
        whole = data.decode()
        return [bytes(raw).decode() for raw in _SPLITTER.decode(whole)]
    except UnicodeDecodeError as error:
        raise NotAStream(f"not UTF-8 at byte {error.start}") from error
    except msgspec.DecodeError as error:
        raise NotAStream(str(error)) from error
    except RecursionError as error:
        raise NotAStream("nested too deeply") from error


def join(texts: list[str]) -> str:
    """Return the array as JP writes it, each element's text as it is."""
    return "[\n  " + ",\n  ".join(texts) + "\n]\n" if texts else "[]\n"


def read(raw: str) -> Element:
    """Make of an element's text what it is. Never fails."""
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        return Element(raw, BrokenEvent("unknown", f"its JSON cannot be read: {error}"))
    tag = value.get("type") if isinstance(value, dict) else None
    if not isinstance(tag, str) or tag not in KINDS:
        return Element(raw, UnknownEvent(tag if isinstance(tag, str) else "unknown", value))
    try:
        return Element(raw, _event(KINDS[tag], value))
    except BrokenElement as problem:
        return Element(raw, BrokenEvent(tag, str(problem)))


def write(event: ConversationEvent) -> Element:
    """Return the element of an event, its text in the form that JP writes inside the array.

    An ``event_id`` is not written: JP before RFD 097 refuses a ``turn_start`` that has one.
    """
    fields = {
        key: armour.deep(armour.wrap, value) if key in event.kind.ENCODED else value
        for key, value in event.kind.to_fields().items()
    }
    stamp, tag = {"timestamp": event.timestamp}, {"type": event.kind.TAG}
    value = (tag | stamp if event.kind.OVERLAY else stamp | tag) | fields
    if event.metadata:
        value["metadata"] = armour.deep(armour.wrap, event.metadata)
    written = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    return Element(written.replace("\n", "\n  "), event)


def _event(kind: type[EventKind], value: Fields) -> ConversationEvent:
    stamp = _timestamp(kind, value)
    decoded = dict(value)
    for key in kind.ENCODED & value.keys():
        change = armour.unwrap_content if key == "content" else armour.unwrap
        decoded[key] = armour.deep(change, value[key])
    metadata = {} if kind is ConfigDelta else armour.deep(armour.unwrap, mapping(value, "metadata"))
    event_id = value.get("event_id")
    return ConversationEvent(
        stamp,
        kind.from_fields(decoded),
        metadata,
        event_id if isinstance(event_id, str) else None,
    )


def _timestamp(kind: type[EventKind], value: Fields) -> str:
    if kind is ConfigDelta:
        stamp: Any = value.get("timestamp")
        return stamp if isinstance(stamp, str) else ""
    stamp = text(value, "timestamp")
    if timestamps.parse(stamp) is None:
        raise BrokenElement(f"“timestamp” cannot be read: {stamp[:60]!r}")
    return stamp

"""Elements from and to JP's JSON (jp-storage-format, sections 6, 11 to 15).

One bad element never costs the others: it becomes a ``BrokenEvent`` with its text kept.
"""

from __future__ import annotations

import json
import math
import re
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
_LOOSE = json.JSONDecoder()
_EDGE = re.compile(r"\s*([\[,])\s*", re.ASCII)
#: How many containers JP reads inside each other: 127, of which the stream's array is one.
_DEPTH = 126


def split(data: bytes) -> list[str]:
    """Return the text of each element of an ``events.json``. Raises NotAStream."""
    try:
        whole = data.decode()
    except UnicodeDecodeError as error:
        raise NotAStream(f"not UTF-8 at byte {error.start}") from error
    try:
        return [bytes(raw).decode() for raw in _SPLITTER.decode(whole)]
    except msgspec.DecodeError as error:
        return _split_loosely(whole, str(error))
    except RecursionError as error:
        raise NotAStream("nested too deeply") from error


def _split_loosely(whole: str, problem: str) -> list[str]:
    """Split what only breaks a rule inside an element, such as half a surrogate or NaN."""
    texts: list[str] = []
    at, expected = 0, "["
    try:
        while (edge := _EDGE.match(whole, at)) and edge[1] == expected:
            _, at = _LOOSE.raw_decode(whole, edge.end())
            texts.append(whole[edge.end() : at])
            expected = ","
    except (ValueError, RecursionError) as error:
        raise NotAStream(problem) from error
    if not texts or whole[at:].strip() != "]":
        raise NotAStream(problem)
    return texts


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
    tag = tag if isinstance(tag, str) else "unknown"
    try:
        _check(value)
        return Element(raw, _event(KINDS[tag], value) if tag in KINDS else UnknownEvent(tag, value))
    except BrokenElement as problem:
        return Element(raw, BrokenEvent(tag, str(problem)))


def write(event: ConversationEvent) -> Element:
    """Return the element of an event, its text in the form that JP writes inside the array.

    An ``event_id`` is not written: JP before RFD 097 refuses a ``turn_start`` that has one.
    Raises BrokenElement for what JP could not read again: too deep, not finite, half a surrogate.
    """
    stamp, tag = {"timestamp": event.timestamp}, {"type": event.kind.TAG}
    value = (tag | stamp if event.kind.OVERLAY else stamp | tag) | event.kind.to_fields()
    if event.metadata:
        value["metadata"] = event.metadata
    _check(value)
    try:
        for key in _encoded(event.kind) & value.keys():
            value[key] = armour.deep(armour.wrap, value[key])
        written = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError as error:
        raise BrokenElement(f"text that is not Unicode: {error}") from error
    return Element(written.replace("\n", "\n  "), event)


def _event(kind: type[EventKind], value: Fields) -> ConversationEvent:
    stamp = _timestamp(kind, value)
    decoded = dict(value)
    for key in _encoded(kind) & value.keys():
        change = armour.unwrap_content if key == "content" else armour.unwrap
        decoded[key] = armour.deep(change, value[key])
    event_id = value.get("event_id")
    return ConversationEvent(
        stamp,
        kind.from_fields(decoded),
        _metadata(kind, decoded),
        event_id if isinstance(event_id, str) else None,
    )


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


def _check(value: Any, room: int = _DEPTH) -> None:
    """Raise BrokenElement for values that JP's JSON cannot hold."""
    if isinstance(value, float) and not math.isfinite(value):
        raise BrokenElement(f"{value} is not a number")
    if isinstance(value, list | dict):
        if not room:
            raise BrokenElement("nested too deeply")
        for inner in value.values() if isinstance(value, dict) else value:
            _check(inner, room - 1)

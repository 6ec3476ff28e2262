"""A name of our own for every element, for permalinks.

It is made of what the element says and when, nothing else. So it survives a second import, growth
of the file, and JP writing the file anew: re-encoded timestamps, dropped unknown keys and
metadata, healed legacy responses, answer types and options in another spelling, keys of RFD 083
that an older jp drops, old contents that today's jp wraps twice, configuration stripped of keys,
ids of RFD 097 and 098 that come or go.

What cannot survive: an edit of the text itself; another count of *equal* elements before it; a
response without an answer that a jp before RFD 082 writes anew (it becomes an answer, null); a
``config_delta`` without a time, which JP gives the present one, and a flattened one without a
time of its own, which it empties; an integer past 64 bits, which JP makes a float; a broken
element that somebody mends.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec

from jpweb.stream import armour, timestamps
from jpweb.stream.answers import Secret, Select, Text
from jpweb.stream.events import (
    ConfigDelta,
    ConversationEvent,
    Element,
    LegacyEvents,
    ToolCallResponse,
    UnknownEvent,
)
from jpweb.stream.inquiry import InquiryQuestion, InquiryRequest

_PART = re.compile(r"(e-[A-Za-z0-9-]+)-p([1-9][0-9]{0,8})", re.ASCII)
_ENCODER = msgspec.json.Encoder(order="sorted")
_WRITTEN = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{1,9}", re.ASCII)
_NANOSECONDS = len("2026-01-01 00:00:00.000000000")
_LINKS = ("event_id", "request_id")


def anchors(elements: Iterable[Element]) -> list[str]:
    """Return one anchor an element, all different; equal elements are counted apart.

    An anchor is a valid id of HTML and of CSS: ``e-``, letters and digits, ``-x`` and a count.
    """
    return numbers(map(name, elements))


def numbers(names: Iterable[str]) -> list[str]:
    """Return the anchors of elements that have these names, in order."""
    seen: dict[str, int] = {}
    result = []
    for own in names:
        count = seen[own] = seen.get(own, 0) + 1
        result.append(own if count == 1 else numbered(own, count))
    return result


def name(element: Element) -> str:
    """Return what equal elements share of their anchors."""
    match element.body:
        case ConversationEvent() as event:
            says: Any = _says(event)
        case LegacyEvents(tag, events):
            says = [tag, *map(_says, events)]
        case UnknownEvent(value=dict(value)):
            says = {key: value[key] for key in value if key not in _LINKS}
        case UnknownEvent(value=value):
            says = value
        case _:
            says = element.raw
    return named(says)


def named(says: Any) -> str:
    """Return the name of what says this: a hash of its one spelling."""
    try:
        spelled = _ENCODER.encode(says)
    except UnicodeEncodeError:  # text that is not Unicode is more than the fast one takes
        spelled = json.dumps(says, sort_keys=True).encode()
    return "e-" + hashlib.blake2b(spelled, digest_size=9).hexdigest()


def by_event_id(elements: Sequence[Element]) -> dict[str, int]:
    """Return the positions of elements by RFD 097's ``event_id``, to open links made with it.

    An id that two elements share names neither, as the RFD has it.
    """
    ids = [_event_id(element) for element in elements]
    counts = Counter(ids)
    return {own: i for i, own in enumerate(ids) if own is not None and counts[own] == 1}


def part(anchor: str, index: int) -> str:
    """Return the anchor of an event inside a legacy element, from 0; the first has the whole's."""
    return anchor if index == 0 else f"{anchor}-p{index + 1}"


def whole(anchor: str) -> tuple[str, int]:
    """Return the anchor of the element, and which of its events is meant, from 0."""
    found = _PART.fullmatch(anchor)
    return (found[1], int(found[2]) - 1) if found else (anchor, 0)


def moment(text: str) -> str | None:
    """Return the spelling that a time has in an anchor, or None where JP would refuse it.

    As ``timestamps.instant``, but nearly all are as JP writes them, and need no more than a look.
    """
    return _remembered(text) if len(text) <= _NANOSECONDS else moment_once(text)


def moment_once(text: str) -> str | None:
    """As ``moment``, of a time that nobody asks for again."""
    if _WRITTEN.fullmatch(text):
        try:
            datetime.fromisoformat(text[:26])
        except ValueError:
            pass  # a leap second, or no such day: the long way tells them apart
        else:
            return text.ljust(_NANOSECONDS, "0")
    return timestamps.instant(text) if timestamps.parse(text) else None


#: Whoever reads an element names it next.
_remembered = lru_cache(maxsize=16)(moment_once)


def numbered(own: str, count: int) -> str:
    """Return the anchor of the ``count``-th of equal elements, from 1."""
    return own if count == 1 else f"{own}-x{count}"


def _says(event: ConversationEvent) -> list[Any]:
    """Return what an event says, in the one form that every jp leaves of it."""
    kind = event.kind
    when: Any = moment(event.timestamp)
    if isinstance(kind, ConfigDelta):
        return [kind.TAG, kind.to_fields() if when is None else when]
    fields = kind.to_fields()
    if isinstance(kind, InquiryRequest):
        fields["question"] = _asked(kind.question)
    elif isinstance(kind, ToolCallResponse):
        # jp wraps the old alphabet once more: what it holds is the same
        fields["content"] = armour.unwrap_url_safe(kind.content)
    return [kind.TAG, event.timestamp if when is None else when, fields]


def _asked(question: InquiryQuestion) -> dict[str, Any]:
    """Return a question without what older versions drop, a secret as the text they know."""
    fields: dict[str, Any] = {
        "text": question.text,
        "answer_type": question.answer_type.to_fields(),
    }
    if question.default is not None:
        fields["default"] = question.default
    match question.answer_type:
        case Select(options):
            fields["answer_type"]["options"] = [{"value": option.value} for option in options]
        case Secret():
            fields["answer_type"] = Text().to_fields()
        case _:
            pass
    return fields


def _event_id(element: Element) -> str | None:
    match element.body:
        case ConversationEvent(event_id=own):
            return own
        case UnknownEvent(value={"event_id": str(own)}) if own:
            return own
        case _:
            return None

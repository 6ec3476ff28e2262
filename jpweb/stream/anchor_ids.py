"""Anchors: the names of elements in permalinks.

An anchor is a hash of the element's content and time alone. So it survives a second import,
growth of the file, and JP rewriting the file: re-encoded timestamps, dropped unknown keys and
metadata, healed legacy responses, answer types and options in another spelling, keys of RFD 083
that an older jp drops, old contents that today's jp wraps twice, configuration stripped of
keys, ids of RFD 097 and 098 that come or go.

An anchor changes with: an edit of the text itself; another count of *equal* elements before it;
a response without an answer that a jp before RFD 082 rewrites (the answer becomes null); a
``config_delta`` without a time, which JP gives the present one, and a flattened one without a
time of its own, which it empties; an integer past 64 bits, which JP makes a float; a repair of
a broken element by hand.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec

from jpweb.stream import base64_fields, timestamps
from jpweb.stream.answer_type import Secret, Select, Text
from jpweb.stream.events import (
    ConfigDelta,
    ConversationEvent,
    Element,
    LegacyEvents,
    ToolCallResponse,
    UnknownEvent,
)
from jpweb.stream.inquiry import InquiryQuestion, InquiryRequest

_PART_ANCHOR = re.compile(r"(e-[A-Za-z0-9-]+)-p([1-9][0-9]{0,8})", re.ASCII)
_ENCODER = msgspec.json.Encoder(order="sorted")
_CANONICAL_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{1,9}", re.ASCII)
_TIMESTAMP_CHARS = len("2026-01-01 00:00:00.000000000")
_LINK_KEYS = ("event_id", "request_id")


def make_anchors(elements: Iterable[Element]) -> list[str]:
    """Return one anchor per element, all different; equal elements get an ordinal.

    An anchor is a valid id of HTML and of CSS: ``e-``, letters and digits, ``-x`` and a count.
    """
    return number_anchors(map(make_content_anchor, elements))


def number_anchors(content_anchors: Iterable[str]) -> list[str]:
    """Return the anchors of elements that have these content anchors, in order."""
    counts: dict[str, int] = {}
    result = []
    for anchor in content_anchors:
        count = counts[anchor] = counts.get(anchor, 0) + 1
        result.append(anchor if count == 1 else add_ordinal(anchor, count))
    return result


def make_content_anchor(element: Element) -> str:
    """Return the anchor without ordinal: equal elements share it."""
    match element.body:
        case ConversationEvent() as event:
            content: Any = _get_event_content(event)
        case LegacyEvents(tag, events):
            content = [tag, *map(_get_event_content, events)]
        case UnknownEvent(value=dict(value)):
            content = {key: value[key] for key in value if key not in _LINK_KEYS}
        case UnknownEvent(value=value):
            content = value
        case _:
            content = element.raw
    return hash_content(content)


def hash_content(content: Any) -> str:
    """Return the content anchor of a JSON value: a hash of its canonical encoding."""
    try:
        content_bytes = _ENCODER.encode(content)
    except UnicodeEncodeError:  # msgspec refuses single surrogates
        content_bytes = json.dumps(content, sort_keys=True).encode()
    return "e-" + hashlib.blake2b(content_bytes, digest_size=9).hexdigest()


def make_event_anchor(anchor: str, index: int) -> str:
    """Return the anchor of an event in a legacy element, from 0; the first has the element's."""
    return anchor if index == 0 else f"{anchor}-p{index + 1}"


def split_anchor(anchor: str) -> tuple[str, int]:
    """Return the anchor of the element, and the index of the event in it, from 0."""
    match = _PART_ANCHOR.fullmatch(anchor)
    return (match[1], int(match[2]) - 1) if match else (anchor, 0)


def normalize_timestamp(text: str) -> str | None:
    """Return the spelling of a timestamp in an anchor, or None where JP would refuse it.

    As ``timestamps.normalize_timestamp``, with a fast path for the form that JP writes.
    """
    return _normalize_cached(text) if len(text) <= _TIMESTAMP_CHARS else normalize_uncached(text)


def normalize_uncached(text: str) -> str | None:
    """Return the result of ``normalize_timestamp`` without its cache."""
    if _CANONICAL_TIMESTAMP.fullmatch(text):
        try:
            datetime.fromisoformat(text[:26])
        except ValueError:
            pass  # a leap second or an invalid date: the slow path decides
        else:
            return text.ljust(_TIMESTAMP_CHARS, "0")
    return timestamps.normalize_timestamp(text) if timestamps.parse_timestamp(text) else None


#: Small: an element's timestamp is normalized by its reader, and next for its anchor.
_normalize_cached = lru_cache(maxsize=16)(normalize_uncached)


def add_ordinal(anchor: str, count: int) -> str:
    """Return the anchor of the ``count``-th of equal elements, from 1."""
    return anchor if count == 1 else f"{anchor}-x{count}"


def strip_ordinal(anchor: str) -> str:
    """Return the anchor that an element shares with those equal to it."""
    return anchor.partition("-x")[0]


def _get_event_content(event: ConversationEvent) -> list[Any]:
    """Return the content of an event in the one form that every jp version leaves of it."""
    kind = event.kind
    timestamp: Any = normalize_timestamp(event.timestamp)
    if isinstance(kind, ConfigDelta):
        return [kind.TAG, kind.to_fields() if timestamp is None else timestamp]
    fields = kind.to_fields()
    if isinstance(kind, InquiryRequest):
        fields["question"] = _get_question_content(kind.question)
    elif isinstance(kind, ToolCallResponse):
        # jp encodes URL-safe contents a second time; decoded, the content is the same.
        fields["content"] = base64_fields.decode_url_safe(kind.content)
    return [kind.TAG, event.timestamp if timestamp is None else timestamp, fields]


def _get_question_content(question: InquiryQuestion) -> dict[str, Any]:
    """Return a question without keys that older versions drop, a secret as text."""
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

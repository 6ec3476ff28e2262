"""A name of our own for every element, for permalinks.

It is made of what the element says, so it survives a second import, growth of the file, and JP
writing the file anew (which may re-encode the timestamp, drop unknown keys and metadata).
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from jpweb.stream import timestamps
from jpweb.stream.events import ConfigDelta, ConversationEvent, Element, UnknownEvent

_SAFE = re.compile(r"[A-Za-z0-9]{1,40}", re.ASCII)


def anchors(elements: Iterable[Element]) -> list[str]:
    """Return one anchor an element, all different; equal elements are counted apart.

    An anchor is a valid id of HTML and of CSS: ``e-``, letters and digits, ``-x`` and a count.
    """
    seen: Counter[str] = Counter()
    result = []
    for element in elements:
        own = name(element)
        seen[own] += 1
        result.append(numbered(own, seen[own]))
    return result


def name(element: Element) -> str:
    """Return what equal elements share of their anchors."""
    body = element.body
    event_id: Any = None
    if isinstance(body, ConversationEvent):
        event_id = body.event_id
        stamp = "" if isinstance(body.kind, ConfigDelta) else timestamps.instant(body.timestamp)
        says: Any = [body.kind.TAG, stamp, body.kind.to_fields()]
    elif isinstance(body, UnknownEvent):
        event_id = body.value.get("event_id") if isinstance(body.value, dict) else None
        says = body.value
    else:
        says = element.raw
    if isinstance(event_id, str) and _SAFE.fullmatch(event_id):
        return f"e-{event_id}"
    digest = hashlib.blake2b(_canonical(says), digest_size=10).digest()
    return f"e-{base64.b32encode(digest).decode().lower()}"


def numbered(own: str, count: int) -> str:
    """Return the anchor of the ``count``-th of equal elements, from 1."""
    return own if count == 1 else f"{own}-x{count}"


def _canonical(says: Any) -> bytes:
    """Return one spelling of a value; integers past 64 bits are more than the fast one takes."""
    try:
        return msgspec.json.encode(says, order="sorted")
    except (msgspec.MsgspecError, OverflowError, ValueError):
        return json.dumps(says, sort_keys=True).encode()

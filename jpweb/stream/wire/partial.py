"""Partially decoded elements: an import only counts, anchors and stores most of them.

Import has the goal of ``fast_codec``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from jpweb.stream import anchor_ids
from jpweb.stream.events import ConversationEvent, Element, ElementBody, EventKind
from jpweb.stream.turns import EventLike
from jpweb.stream.wire import codec, fast_codec


class PartialElement(msgspec.Struct):
    """An element's text, tag and content anchor; decoded completely on demand.

    Its ``kind`` is that of ``Element``, with empty fields unless it is a call or its result.
    """

    raw: str
    tag: str
    content_anchor: str
    kind: EventKind | None
    decoded: Element | None = None
    timestamp: str = ""

    @property
    def element(self) -> Element:
        """The element, decoded on the first access."""
        if self.decoded is not None:
            return self.decoded
        if self.kind is not None and self.timestamp:
            self.decoded = Element(self.raw, ConversationEvent(self.timestamp, self.kind, {}))
        else:
            self.decoded = codec.read_element(self.raw)
        return self.decoded

    @property
    def body(self) -> ElementBody:
        """The body."""
        return self.element.body

    @property
    def events(self) -> Sequence[EventLike]:
        """The events; an undecoded element is itself its only event."""
        return (self,) if self.decoded is None else self.decoded.events

    @property
    def note(self) -> dict[str, Any]:
        """The note of jpweb in the event's metadata."""
        return next((event.note for event in self.element.events), {})


def read_partial(raw_text: str) -> PartialElement:
    """Read an element's text partially. Never fails."""
    shape = fast_codec.read_partial_shape(raw_text)
    if shape is not None:
        return PartialElement(
            raw_text, shape.kind.TAG, shape.content_anchor, shape.kind, None, shape.timestamp
        )
    element = codec.read_element(raw_text)
    return PartialElement(
        raw_text, element.tag, anchor_ids.make_content_anchor(element), element.kind, element
    )

"""Elements seen as far as a mirror needs them: most are only counted, named and kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from jpweb.stream import identity
from jpweb.stream.events import Body, ConversationEvent, Element, EventKind
from jpweb.stream.turns import Happening
from jpweb.stream.wire import elements, shapes


class Glance(msgspec.Struct):
    """An element's text, tag and name (``identity.name``); all of it where that is asked for.

    Its ``kind`` is that of ``Element``, but says nothing in what neither calls nor asks.
    """

    raw: str
    tag: str
    own: str
    kind: EventKind | None
    made: Element | None = None
    timestamp: str = ""

    @property
    def element(self) -> Element:
        """The element, read when it is first wanted."""
        if self.made is not None:
            return self.made
        if self.kind is not None and self.timestamp:
            self.made = Element(self.raw, ConversationEvent(self.timestamp, self.kind, {}))
        else:
            self.made = elements.read(self.raw)
        return self.made

    @property
    def body(self) -> Body:
        """All that it says."""
        return self.element.body

    @property
    def events(self) -> Sequence[Happening]:
        """The events in it; where it is one, it may stand for itself."""
        return (self,) if self.made is None else self.made.events

    @property
    def note(self) -> dict[str, Any]:
        """What jpweb noted beside it."""
        return next((event.note for event in self.element.events), {})


def glance(raw: str) -> Glance:
    """Look at an element's text. Never fails."""
    seen = shapes.glance(raw)
    if seen is not None:
        return Glance(raw, seen.kind.TAG, seen.own, seen.kind, None, seen.timestamp)
    element = elements.read(raw)
    return Glance(raw, element.tag, identity.name(element), element.kind, element)

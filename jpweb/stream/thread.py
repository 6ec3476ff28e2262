"""What a provider may see of a stream (RFD 005 *Provider visibility*).

An allow-list on the kinds: what does not say ``PROVIDER_VISIBLE`` stays here, inquiries above all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from jpweb.stream.events import ConversationEvent, Element


@dataclass(frozen=True, slots=True)
class ThreadParts:
    """What is sent: the system prompt's parts, then the visible events in order."""

    system: tuple[str, ...]
    events: tuple[ConversationEvent, ...]


@dataclass(frozen=True, slots=True)
class Thread:
    """A stream together with the system prompt it is sent under."""

    system: tuple[str, ...]
    elements: tuple[Element, ...]

    def into_parts(self) -> ThreadParts:
        """Return the parts. The one way for events to reach a provider."""
        return ThreadParts(self.system, tuple(visible(self.elements)))


def visible(elements: Iterable[Element]) -> list[ConversationEvent]:
    """Return the events that a provider may see, in order."""
    return [
        element.body
        for element in elements
        if isinstance(element.body, ConversationEvent) and element.body.kind.PROVIDER_VISIBLE
    ]

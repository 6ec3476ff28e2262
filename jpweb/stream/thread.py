"""The provider-visible part of a stream (RFD 005 *Event Visibility*, *Thread Decomposition*).

An allow-list on the kinds: only a kind with ``PROVIDER_VISIBLE`` is sent; inquiries never are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from jpweb.stream.compaction import project_turns
from jpweb.stream.events import ConversationEvent, Element


@dataclass(frozen=True, slots=True)
class SystemPart:
    """A piece of the system prompt, wrapped in the named tag where it has one.

    Pieces are sent in the order of their ``position``; equal ones stay as they are.
    """

    content: str
    tag: str = ""
    title: str = ""
    position: int = 0

    def render_text(self) -> str:
        """Return the text that is sent, byte for byte as JP renders it."""
        if not self.tag:
            return f"# {self.title}\n\n{self.content}" if self.title else self.content.strip()
        attribute = f' title="{_escape_attribute(self.title)}"' if self.title else ""
        is_plain = not any(character in self.content for character in "<>&")
        body = self.content.strip() if is_plain else _wrap_in_cdata(self.content)
        return f"<{self.tag}{attribute}>\n{body}\n</{self.tag}>"


def _escape_attribute(text: str) -> str:
    for character, entity in (("&", "&amp;"), ('"', "&quot;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, entity)
    return text


def _wrap_in_cdata(text: str) -> str:
    """Return the text as a CDATA section; its own end mark is split over two sections."""
    return f"<![CDATA[\n{text.replace(']]>', ']]]]><![CDATA[>')}\n]]>"


@dataclass(frozen=True, slots=True)
class ThreadParts:
    """The content of a request: the system prompt's parts, then the visible events in order."""

    system: tuple[str, ...]
    events: tuple[ConversationEvent, ...]


@dataclass(frozen=True, slots=True)
class Thread:
    """A stream together with the system prompt it is sent under."""

    system: tuple[str | SystemPart, ...]
    elements: tuple[Element, ...]

    def build_parts(self) -> ThreadParts:
        """Return the parts, old turns compacted. Events reach a provider only this way."""
        turns = project_turns(self.elements)
        return self._make_parts(element for turn in turns for element in turn.elements)

    def _make_parts(self, elements: Iterable[Element]) -> ThreadParts:
        system = [part if isinstance(part, str) else part.render_text() for part in self.system]
        return ThreadParts(tuple(system), tuple(list_visible_events(elements)))


def list_visible_events(elements: Iterable[Element]) -> list[ConversationEvent]:
    """Return the events that a provider may see, in order."""
    return [
        event for element in elements for event in element.events if event.kind.PROVIDER_VISIBLE
    ]

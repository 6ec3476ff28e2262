"""What an event holds to be read: its texts by name, and each as what it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

from jpweb.runtime.prose import code, cuts, differences, fences, markdown, terminal, values
from jpweb.runtime.prose.characters import visible
from jpweb.stream import armour
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    Compaction,
    ConfigDelta,
    ConversationEvent,
    Element,
    ToolCallRequest,
    ToolCallResponse,
)
from jpweb.stream.inquiry import InquiryRequest

#: Characters of a message that a page holds; of what stands in a fold, and its beginning if longer.
CLIP, SMALL, BEGINNING = 12_000, 1_500, 600
#: Characters that one request shows.
PART = 200_000
#: JSON that is longer is shown as it came.
_LONGEST_JSON = 4_000_000
#: Text from which is told what a result is.
_FAR = 64_000
#: Terminal output is mostly no longer than so many times what is seen of it.
_ESCAPES = 4

Look: TypeAlias = Literal["markdown", "lines", "fields", "json", "terminal", "diff", "plain"]


@dataclass(frozen=True, slots=True)
class Shown:
    """A part of a payload as HTML; ``rest`` where something of it is left out.

    ``better`` tells that it looks otherwise, colours and all, where the whole is asked for.
    """

    html: SafeString
    rest: bool
    better: bool = False


@dataclass(frozen=True)
class Payload:
    """One text of an event; ``name`` names it among them, ``text`` is what is on record."""

    name: str
    title: str
    text: str
    look: Look
    value: Any = None

    @cached_property
    def size(self) -> str:
        """How long it is, in words."""
        lines = self.text.count("\n") + (not self.text.endswith("\n"))
        words = f"{len(self.text):,} character{'' if len(self.text) == 1 else 's'}"
        return f"{words}, {lines:,} lines" if lines > 1 else words

    @property
    def is_long(self) -> bool:
        """Tell whether its size is worth a word."""
        return len(self.text) > SMALL

    @property
    def is_prose(self) -> bool:
        """Tell Markdown, of which a page holds more and which is no box of its own."""
        return self.look in ("markdown", "lines")

    def beginning(self) -> Shown:
        """Return what a page holds of it before somebody asks for more."""
        most = CLIP if self.is_prose or self.name == "raw" else SMALL
        cut = len(self.text) > most
        if cut and most == SMALL:
            most = BEGINNING
        if self.look == "fields":
            found = values.fields(self.value, most, colours=False)
            return Shown(found.html, found.cut or cut, found.better or found.cut)
        first = next(self._parts(self._near(most) if cut else self._whole, most), "")
        better = most == BEGINNING or (self._has_code and fences.name_a_language(first))
        return Shown(self._html(first, 0), cut, better)

    def part(self, number: int) -> Shown | None:
        """Return a part of the whole, counted from 1; None where there is none."""
        if self.look == "fields" and number == 1:
            found = values.fields(self.value, PART, colours=True)
            if not found.cut:
                return Shown(found.html, rest=False)
        parts = list(self._parts(self._whole, PART))
        if not 1 <= number <= max(len(parts), 1):
            return None
        text = parts[number - 1] if parts else ""
        return Shown(self._html(text, code.MOST), rest=number < len(parts))

    @cached_property
    def _whole(self) -> str:
        """The text as it is laid out."""
        if self.look == "json" and len(self.text) <= _LONGEST_JSON:
            return values.indented(self.text) or self.text
        return terminal.plain(self.text) if self.look == "terminal" else self.text

    @property
    def _has_code(self) -> bool:
        return self.is_prose or (self.look == "plain" and self.name != "raw")

    def _near(self, most: int) -> str:
        """Return enough of the text to show so many characters, and not much more."""
        if self.look == "terminal":
            return terminal.plain(self.text[: _ESCAPES * most])[: most + 1]
        return self.text[: most + 1]

    def _parts(self, text: str, most: int) -> Iterator[str]:
        return (fences.parts if self.is_prose else cuts.parts)(text, most)

    def _html(self, text: str, most: int) -> SafeString:
        if self.is_prose:
            ends = self.look == "lines"
            made = markdown.html(text, line_ends=ends, most=most)
            return format_html('<div class="prose">{}</div>', made)
        focus = SafeString(' tabindex="0"') if len(text) > SMALL // 4 else ""
        return format_html('<pre class="text code"{}>{}</pre>', focus, self._inner(text, most))

    def _inner(self, text: str, most: int) -> SafeString:
        if self.look == "terminal":
            return terminal.html(text)
        clean = visible(text)
        match self.look:
            case "diff":
                return differences.marked(clean)
            case "json" | "fields":
                return values.coloured(clean)
            case _ if self._has_code and fences.has_any(clean):
                return fences.coloured(clean, most)
            case _:
                return escape(clean)


def payloads(element: Element, part: int = 0) -> dict[str, Payload]:
    """Return the texts of an element by name, the most telling first; ``raw`` is the last.

    Of a legacy element they are those of one of its events.
    """
    return {payload.name: payload for payload in (*_said(element, part), _raw(element))}


def named(element: Element, name: str) -> Payload | None:
    """Return one text of an element, or None where it has none of that name."""
    if name == "raw":
        return _raw(element)
    return next((payload for payload in _said(element, 0) if payload.name == name), None)


def formatted(event: ConversationEvent) -> Payload | None:
    """Return what a tool's own formatter made of the arguments, written for a terminal."""
    kept = event.metadata.get("rendered_arguments")
    if not isinstance(kept, str) or not kept:
        return None
    return Payload("formatted", "Formatted arguments", armour.unwrap(kept), "terminal")


def _said(element: Element, part: int) -> Iterator[Payload]:
    for event in element.events[part : part + 1]:
        if made := formatted(event):
            yield made
        yield from _HELD.get(type(event.kind), _nothing)(event.kind)


def _chat(kind: ChatRequest | ChatResponse) -> Iterator[Payload]:
    if isinstance(kind.content, str):
        # What a person typed is shown in the lines they typed it in.
        look: Look = "lines" if isinstance(kind, ChatRequest) else "markdown"
        yield Payload("content", "Content", kind.content, look)
    else:
        yield Payload("content", "Content", values.text(kind.content), "json")


def _call(kind: ToolCallRequest) -> Iterator[Payload]:
    yield Payload("arguments", "Arguments", values.text(kind.arguments), "fields", kind.arguments)


def _result(kind: ToolCallResponse) -> Iterator[Payload]:
    yield Payload("content", "Content", kind.content, _look(kind.content))


def _question(kind: InquiryRequest) -> Iterator[Payload]:
    if kind.question.context:
        yield Payload("context", "Context", kind.question.context, "lines")
    yield Payload("question", "Question", kind.question.text, "lines")


def _change(kind: ConfigDelta) -> Iterator[Payload]:
    yield Payload("delta", "Changes", values.text(kind.delta), "json")


def _shortening(kind: Compaction) -> Iterator[Payload]:
    match kind.policies:
        case {"summary": {"summary": str(text)}} if text:
            yield Payload("summary", "Summary", text, "markdown")
        case policies:
            yield Payload("policies", "Policies", values.text(policies), "json")


def _nothing(_kind: object) -> Iterator[Payload]:
    return iter(())


_HELD: dict[type, Callable[[Any], Iterator[Payload]]] = {
    ChatRequest: _chat,
    ChatResponse: _chat,
    ToolCallRequest: _call,
    ToolCallResponse: _result,
    InquiryRequest: _question,
    ConfigDelta: _change,
    Compaction: _shortening,
}


def _look(text: str) -> Look:
    if terminal.is_one(text[:_FAR]):
        return "terminal"
    if differences.is_one(text):
        return "diff"
    if len(text) > _FAR:
        # Whether it can be read shows when somebody asks for the whole.
        return "json" if values.may_be_json(text) else "plain"
    return "json" if values.indented(text) is not None else "plain"


def _raw(element: Element) -> Payload:
    """Return an element's own text, indented as a document of its own."""
    text = element.raw.replace("\n  ", "\n")
    return Payload("raw", "Stored event", text, "plain")

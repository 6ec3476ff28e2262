"""The texts of an event by name, each rendered in its display style."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

from jpweb.runtime.rendering import (
    ansi,
    code_fences,
    diff,
    json_values,
    markdown,
    syntax_highlighting,
    text_chunks,
)
from jpweb.runtime.rendering.invisible_characters import reveal_invisible
from jpweb.stream import base64_fields
from jpweb.stream.events import (
    ChatRequest,
    ChatResponse,
    Compaction,
    ConfigDelta,
    ConversationEvent,
    Element,
    ToolCallRequest,
    ToolCallResponse,
    TurnStart,
)
from jpweb.stream.inquiry import InquiryRequest, InquiryResponse

#: Characters of a message that a page holds; of a folded text; of the excerpt of a longer one.
MAX_PROSE_CHARS, MAX_FOLDED_CHARS, EXCERPT_CHARS = 12_000, 1_500, 600
#: Characters of a part, which one request returns.
PART_CHARS = 200_000
#: Characters of JSON that is indented; longer JSON stays as stored.
_MAX_JSON_CHARS = 4_000_000
#: Leading characters from which the display style of a result is detected.
_MAX_SCANNED_CHARS = 64_000
#: Stored characters read per visible character of terminal output, because codes are removed.
_ESCAPE_RATIO = 4

DisplayStyle: TypeAlias = Literal[
    "markdown", "lines", "fields", "json", "terminal", "diff", "plain"
]


@dataclass(frozen=True, slots=True)
class RenderedPart:
    """A part of a payload as HTML; ``has_more``: the payload continues after it.

    ``is_simplified``: the whole payload is rendered differently, for example highlighted.
    """

    html: SafeString
    has_more: bool
    is_simplified: bool = False


@dataclass(frozen=True)
class Payload:
    """A stored text of an event; ``name`` identifies it in the event."""

    name: str
    title: str
    text: str
    style: DisplayStyle
    value: Any = None

    @cached_property
    def size(self) -> str:
        """Its length as text, such as “1,200 characters, 30 lines”."""
        lines = self.text.count("\n") + (not self.text.endswith("\n"))
        words = f"{len(self.text):,} character{'' if len(self.text) == 1 else 's'}"
        return f"{words}, {lines:,} lines" if lines > 1 else words

    @property
    def is_long(self) -> bool:
        """Whether its size is worth showing."""
        return len(self.text) > MAX_FOLDED_CHARS

    @property
    def is_prose(self) -> bool:
        """Whether it is Markdown, of which a page shows more and without a box."""
        return self.style in ("markdown", "lines")

    def render_excerpt(self) -> RenderedPart:
        """Return the excerpt that a page shows first."""
        max_chars = MAX_PROSE_CHARS if self.is_prose or self.name == "raw" else MAX_FOLDED_CHARS
        is_cut = len(self.text) > max_chars
        if is_cut and max_chars == MAX_FOLDED_CHARS:
            max_chars = EXCERPT_CHARS
        if self.style == "fields":
            rendering = json_values.render_fields(self.value, max_chars, colors=False)
            return RenderedPart(
                rendering.html,
                rendering.is_cut or is_cut,
                rendering.is_simplified or rendering.is_cut,
            )
        first_part = next(
            self._split_parts(self._cut_near(max_chars) if is_cut else self._full_text, max_chars),
            "",
        )
        is_simplified = max_chars == EXCERPT_CHARS or (
            self._has_code and code_fences.has_highlightable_code(first_part)
        )
        return RenderedPart(self._render_html(first_part, 0), is_cut, is_simplified)

    def render_part(self, number: int) -> RenderedPart | None:
        """Return a part of the payload, counted from 1; None where there is none."""
        if self.style == "fields" and number == 1:
            rendering = json_values.render_fields(self.value, PART_CHARS, colors=True)
            if not rendering.is_cut:
                return RenderedPart(rendering.html, has_more=False)
        parts = list(self._split_parts(self._full_text, PART_CHARS))
        if not 1 <= number <= max(len(parts), 1):
            return None
        text = parts[number - 1] if parts else ""
        return RenderedPart(
            self._render_html(text, syntax_highlighting.MAX_HIGHLIGHTED_CHARS),
            has_more=number < len(parts),
        )

    @cached_property
    def _full_text(self) -> str:
        """The text as displayed, with JSON indented and terminal codes removed."""
        if self.style == "json" and len(self.text) <= _MAX_JSON_CHARS:
            return json_values.indent_json(self.text) or self.text
        return ansi.strip_codes(self.text) if self.style == "terminal" else self.text

    @property
    def _has_code(self) -> bool:
        return self.is_prose or (self.style == "plain" and self.name != "raw")

    def _cut_near(self, max_chars: int) -> str:
        """Return a prefix of the text that renders to ``max_chars`` characters or a few more."""
        if self.style == "terminal":
            return ansi.strip_codes(self.text[: _ESCAPE_RATIO * max_chars])[: max_chars + 1]
        return self.text[: max_chars + 1]

    def _split_parts(self, text: str, max_chars: int) -> Iterator[str]:
        return (code_fences.split_markdown if self.is_prose else text_chunks.split_text)(
            text, max_chars
        )

    def _render_html(self, text: str, max_chars: int) -> SafeString:
        if self.is_prose:
            keep_line_ends = self.style == "lines"
            prose_html = markdown.render_markdown(
                text, keep_line_ends=keep_line_ends, max_chars=max_chars
            )
            return format_html('<div class="prose">{}</div>', prose_html)
        tabindex = SafeString(' tabindex="0"') if len(text) > MAX_FOLDED_CHARS // 4 else ""
        return format_html(
            '<pre class="text code"{}>{}</pre>', tabindex, self._render_inner(text, max_chars)
        )

    def _render_inner(self, text: str, max_chars: int) -> SafeString:
        if self.style == "terminal":
            return ansi.render_terminal(text)
        visible_text = reveal_invisible(text)
        match self.style:
            case "diff":
                return diff.render_diff(visible_text)
            case "json" | "fields":
                return json_values.highlight_json(visible_text)
            case _ if self._has_code and code_fences.has_fence(visible_text):
                return code_fences.highlight_fences(visible_text, max_chars)
            case _:
                return escape(visible_text)


def get_payloads(element: Element, part: int = 0) -> dict[str, Payload]:
    """Return the texts of an element by name, the most relevant first and ``raw`` last.

    Of a legacy element they are those of one of its events.
    """
    return {
        payload.name: payload
        for payload in (*_iter_payloads(element, part), _make_raw_payload(element))
    }


def find_payload(element: Element, name: str) -> Payload | None:
    """Return one text of an element, or None where it has none of that name."""
    if name == "raw":
        return _make_raw_payload(element)
    return next((payload for payload in _iter_payloads(element, 0) if payload.name == name), None)


def find_formatted_payload(event: ConversationEvent) -> Payload | None:
    """Return the arguments as the tool's own formatter wrote them for a terminal, or None.

    Terminal codes other than colours can hide text, so they are shown as signs.
    """
    encoded_text = event.metadata.get("rendered_arguments")
    if not isinstance(encoded_text, str) or not encoded_text:
        return None
    text = base64_fields.decode_text(encoded_text)
    style: DisplayStyle = "terminal" if ansi.has_only_colors(text) else "plain"
    return Payload("formatted", "Formatted arguments", text, style)


def _iter_payloads(element: Element, part: int) -> Iterator[Payload]:
    for event in element.events[part : part + 1]:
        if payload := find_formatted_payload(event):
            yield payload
        yield from _ITERATORS_BY_KIND.get(type(event.kind), _iter_nothing)(event.kind)


def _iter_chat(kind: ChatRequest | ChatResponse) -> Iterator[Payload]:
    if isinstance(kind.content, str):
        # A person's message keeps its line breaks, which Markdown would join.
        style: DisplayStyle = "lines" if isinstance(kind, ChatRequest) else "markdown"
        yield Payload("content", "Content", kind.content, style)
    else:
        yield Payload("content", "Content", json_values.format_json(kind.content), "json")


def _iter_call(kind: ToolCallRequest) -> Iterator[Payload]:
    yield Payload(
        "arguments", "Arguments", json_values.format_json(kind.arguments), "fields", kind.arguments
    )


def make_result_payload(content: str) -> Payload:
    """Return the content of a tool call's result as a payload."""
    fields = json_values.parse_text_fields(content[: _MAX_SCANNED_CHARS + 1])
    style = _detect_style(content) if fields is None else "fields"
    return Payload("content", "Content", content, style, fields)


def _iter_result(kind: ToolCallResponse) -> Iterator[Payload]:
    yield make_result_payload(kind.content)


def _iter_question(kind: InquiryRequest) -> Iterator[Payload]:
    if kind.question.context:
        yield Payload("context", "Context", kind.question.context, "lines")
    yield Payload("question", "Question", kind.question.text, "lines")


def _iter_config_delta(kind: ConfigDelta) -> Iterator[Payload]:
    yield Payload("delta", "Changes", json_values.format_json(kind.delta), "json")


def _iter_compaction(kind: Compaction) -> Iterator[Payload]:
    match kind.policies:
        case {"summary": {"summary": str(text)}} if text:
            yield Payload("summary", "Summary", text, "markdown")
        case policies:
            yield Payload("policies", "Policies", json_values.format_json(policies), "json")


def _iter_nothing(_kind: object) -> Iterator[Payload]:
    return iter(())


#: Every event kind is a key; ``_iter_nothing`` for a kind whose template needs no payload.
_ITERATORS_BY_KIND: dict[type, Callable[[Any], Iterator[Payload]]] = {
    TurnStart: _iter_nothing,
    ChatRequest: _iter_chat,
    ChatResponse: _iter_chat,
    ToolCallRequest: _iter_call,
    ToolCallResponse: _iter_result,
    InquiryRequest: _iter_question,
    InquiryResponse: _iter_nothing,
    ConfigDelta: _iter_config_delta,
    Compaction: _iter_compaction,
}


def _detect_style(text: str) -> DisplayStyle:
    if ansi.is_terminal_output(text[:_MAX_SCANNED_CHARS]):
        return "terminal"
    if diff.is_diff(text):
        return "diff"
    if len(text) > _MAX_SCANNED_CHARS:
        # Parsing is deferred until a request for a part: here it would cost each page.
        return "json" if json_values.is_json_like(text) else "plain"
    return "json" if json_values.indent_json(text) is not None else "plain"


def _make_raw_payload(element: Element) -> Payload:
    """Return an element's JSON, indented as a document of its own."""
    text = element.raw.replace("\n  ", "\n")
    return Payload("raw", "Stored event", text, "plain")

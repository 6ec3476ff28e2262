"""Markdown export of a conversation, for people and for the record (RFD 082 *Reader behavior*).

Texts of the conversation are quoted or fenced, line by line, so that none of them can pass for
the structure around it. The lines ``Answer: …`` and ``Cancelled (…)`` are JP's own.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jpweb.stream.events import BrokenEvent, ChatRequest, ChatResponse, ToolCallResponse
from jpweb.stream.inquiry import (
    Answered,
    Cancelled,
    InquiryOutcome,
    InquiryResponse,
    Redacted,
)
from jpweb.stream.outline import Outline
from jpweb.stream.transcript.items import InquiryPair, Item, StandaloneItem, ToolCall

#: Line endings of Markdown; Unicode's other line separators end no line.
_LINE_END = re.compile(r"\r\n|\r|\n")
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
BLOCK_SEPARATOR = "\n\n"
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class MarkdownOptions:
    """The parts that are written besides messages, questions and outcomes."""

    title: str = ""
    turns: bool = True
    arguments: bool = True
    results: bool = True
    reasoning: bool = False


def export_markdown(outline: Outline, options: MarkdownOptions | None = None) -> str:
    """Return the Markdown of an outline. Its last line counts the parts left out."""
    writer = MarkdownWriter(options or MarkdownOptions())
    blocks = list(writer.write_title())
    for turn in outline.turns:
        blocks += writer.write_turn(turn.index, is_incomplete=turn.is_incomplete)
        for item in turn.items:
            blocks += writer.write_item(item)
    return BLOCK_SEPARATOR.join([*blocks, *writer.write_left_out()]) + "\n"


def format_outcome(outcome: InquiryOutcome) -> str:
    """Return the line of an outcome: JP's, whatever the outcome.

    A reason of another version is written verbatim but for control characters, which could add
    lines; they are escaped as in JSON.
    """
    match outcome:
        case Answered(answer):
            return f"Answer: {_to_json(answer)}"
        case Redacted():
            return "Answer: <redacted>"
        case Cancelled(reason):
            return f"Cancelled ({_CONTROL.sub(_escape_control, reason.tag)})"


class MarkdownWriter:
    """Yields the Markdown of a conversation block by block; an empty line separates blocks.

    It counts what ``options`` leave out, so ``write_left_out`` comes last.
    """

    def __init__(self, options: MarkdownOptions) -> None:
        self._options = options
        self._left_out: Counter[str] = Counter()

    def write_title(self) -> Iterator[str]:
        """Yield the title, where there is one."""
        if self._options.title:
            yield f"# {_escape_line(self._options.title)}"

    def write_turn(self, index: int, *, is_incomplete: bool) -> Iterator[str]:
        """Yield the heading of the turn with this index, which counts from 0."""
        if self._options.turns:
            yield f"## Turn {index + 1}{' (incomplete)' if is_incomplete else ''}"

    def write_left_out(self) -> Iterator[str]:
        """Yield the line that counts the parts left out, where there are any."""
        parts = ", ".join(f"{tag} {count}" for tag, count in sorted(self._left_out.items()))
        if parts:
            yield f"Omitted: {parts}."

    def write_item(self, item: Item) -> Iterator[str]:
        """Yield the blocks of an item."""
        match item:
            case ToolCall():
                yield from self._write_call(item)
            case StandaloneItem():
                yield from self._write_entry(item)
            case stray:
                yield "### Question"
                yield from _write_inquiry(stray.inquiry)

    def _write_call(self, item: ToolCall) -> Iterator[str]:
        yield f"### Tool call {_code_span(item.call.name)}"
        if self._options.arguments:
            yield _fence_text(_to_json(item.call.arguments, indent=2), "json")
        else:
            self._left_out["arguments"] += 1
        for group in item.question_groups:
            for attempt, inquiry in enumerate(group.attempts, start=1):
                number = f", attempt {attempt}" if len(group.attempts) > 1 else ""
                yield f"#### Question{number}"
                yield from _write_inquiry(inquiry)
        if item.response and isinstance(item.response.element.kind, ToolCallResponse):
            yield from self._write_result(item.response.element.kind)

    def _write_result(self, kind: ToolCallResponse) -> Iterator[str]:
        if self._options.results:
            yield "#### Error" if kind.is_error else "#### Result"
            yield _fence_text(kind.content)
        else:
            self._left_out["results"] += 1

    def _write_entry(self, entry: StandaloneItem) -> Iterator[str]:
        element = entry.placed.element
        match element.kind:
            case ChatRequest(content=content, author=author):
                yield f"### {_escape_line(author)}" if author else "### User"
                yield _quote_text(content)
            case ChatResponse() as reply:
                yield from self._write_reply(reply)
            case ToolCallResponse() as result:
                yield "### Result without a call"
                yield from self._write_result(result)
            case InquiryResponse(outcome=outcome):
                yield "### Outcome without a question"
                yield format_outcome(outcome)
            case None:
                label = "Unreadable" if isinstance(element.body, BrokenEvent) else "Unknown type"
                yield f"### {label}: {_code_span(element.tag)}"
                yield _fence_text(element.raw, "json")
            case kind:
                self._left_out[kind.TAG] += 1

    def _write_reply(self, reply: ChatResponse) -> Iterator[str]:
        if reply.variant == "reasoning" and not self._options.reasoning:
            self._left_out["reasoning"] += 1
            return
        yield "### Reasoning" if reply.variant == "reasoning" else "### Assistant"
        if reply.variant == "data":
            yield _fence_text(_to_json(reply.content, indent=2), "json")
        else:
            yield _quote_text(reply.content)


def _write_inquiry(inquiry: InquiryPair) -> Iterator[str]:
    question = inquiry.inquiry_request.question
    yield _quote_text(question.text)
    if question.context:
        yield _quote_text(question.context)
    if inquiry.outcome is not None:
        yield format_outcome(inquiry.outcome)
    else:
        yield "No answer yet" if inquiry.state == "open" else "Unanswered"


def _quote_text(text: str) -> str:
    """Return a text as a quote that no line of it can end."""
    return "\n".join(f"> {line}" if line else ">" for line in _LINE_END.split(text))


def _fence_text(text: str, language: str = "") -> str:
    """Return a text in a fence that is longer than any run of backticks inside."""
    fence = "`" * max(3, _longest_backticks(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _code_span(text: str) -> str:
    """Return a text as code within a line."""
    ticks = "`" * (_longest_backticks(text) + 1)
    code_text = _CONTROL.sub(_escape_control, text)
    pad = " " if code_text[:1] in ("`", " ") or code_text[-1:] in ("`", " ") else ""
    return f"{ticks}{pad}{code_text}{pad}{ticks}" if code_text else "(no name)"


def _escape_line(text: str) -> str:
    """Return a text within a line, its Markdown punctuation escaped."""
    return _PUNCTUATION.sub(r"\\\1", _CONTROL.sub(" ", text))


def _longest_backticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _escape_control(control: re.Match[str]) -> str:
    return json.dumps(control[0])[1:-1]


def _to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)

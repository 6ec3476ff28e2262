"""A conversation as one Markdown text, for people and for the record (RFD 082 *Reader behavior*).

Texts of the conversation are quotes or fenced, line by line, so that none of them can pass for the
structure around it. The lines ``Answer: …`` and ``Cancelled (…)`` are JP's own.
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
    InquiryResponse,
    Outcome,
    Redacted,
)
from jpweb.stream.layout.items import Entry, Inquiry, Item, ToolCall
from jpweb.stream.outline import Outline

#: What ends a line in Markdown; other separators do not.
_LINE_END = re.compile(r"\r\n|\r|\n")
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
#: Stands between two blocks.
BLOCK_SEPARATOR = "\n\n"
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Options:
    """What is written besides messages, questions and outcomes."""

    title: str = ""
    turns: bool = True
    arguments: bool = True
    results: bool = True
    reasoning: bool = False


def markdown(outline: Outline, options: Options | None = None) -> str:
    """Return the Markdown of an outline. What is left out is counted in its last line."""
    writer = MarkdownWriter(options or Options())
    blocks = list(writer.write_title())
    for turn in outline.turns:
        blocks += writer.write_turn(turn.index, is_incomplete=turn.incomplete)
        for item in turn.items:
            blocks += writer.write_item(item)
    return BLOCK_SEPARATOR.join([*blocks, *writer.write_left_out()]) + "\n"


def outcome_line(outcome: Outcome) -> str:
    """Return the line of an outcome: JP's, whatever the outcome.

    A reason of another version stands verbatim but for control characters, which could make more
    lines of it; they are escaped as in JSON.
    """
    match outcome:
        case Answered(answer):
            return f"Answer: {_json(answer)}"
        case Redacted():
            return "Answer: <redacted>"
        case Cancelled(reason):
            return f"Cancelled ({_CONTROL.sub(_escaped, reason.tag)})"


class MarkdownWriter:
    """Yields the Markdown of a conversation block by block; an empty line separates blocks.

    It counts what ``options`` leave out, so ``write_left_out`` comes last.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._left_out: Counter[str] = Counter()

    def write_title(self) -> Iterator[str]:
        """Yield the title, where there is one."""
        if self._options.title:
            yield f"# {_plain(self._options.title)}"

    def write_turn(self, index: int, *, is_incomplete: bool) -> Iterator[str]:
        """Yield the heading of the turn with this index, which counts from 0."""
        if self._options.turns:
            yield f"## Turn {index + 1}{' (incomplete)' if is_incomplete else ''}"

    def write_left_out(self) -> Iterator[str]:
        """Yield the line that counts what was left out, where something was."""
        parts = ", ".join(f"{tag} {count}" for tag, count in sorted(self._left_out.items()))
        if parts:
            yield f"Omitted: {parts}."

    def write_item(self, item: Item) -> Iterator[str]:
        """Yield the blocks of an item."""
        match item:
            case ToolCall():
                yield from self._call(item)
            case Entry():
                yield from self._entry(item)
            case stray:
                yield "### Question"
                yield from _inquiry(stray.inquiry)

    def _call(self, item: ToolCall) -> Iterator[str]:
        yield f"### Tool call {_code(item.call.name)}"
        if self._options.arguments:
            yield _fenced(_json(item.call.arguments, indent=2), "json")
        else:
            self._left_out["arguments"] += 1
        for group in item.groups:
            for attempt, inquiry in enumerate(group.attempts, start=1):
                number = f", attempt {attempt}" if len(group.attempts) > 1 else ""
                yield f"#### Question{number}"
                yield from _inquiry(inquiry)
        if item.response and isinstance(item.response.element.kind, ToolCallResponse):
            yield from self._result(item.response.element.kind)

    def _result(self, kind: ToolCallResponse) -> Iterator[str]:
        if self._options.results:
            yield "#### Error" if kind.is_error else "#### Result"
            yield _fenced(kind.content)
        else:
            self._left_out["results"] += 1

    def _entry(self, entry: Entry) -> Iterator[str]:
        element = entry.placed.element
        match element.kind:
            case ChatRequest(content=content, author=author):
                yield f"### {_plain(author)}" if author else "### User"
                yield _quoted(content)
            case ChatResponse() as reply:
                yield from self._reply(reply)
            case ToolCallResponse() as result:
                yield "### Result without a call"
                yield from self._result(result)
            case InquiryResponse(outcome=outcome):
                yield "### Outcome without a question"
                yield outcome_line(outcome)
            case None:
                word = "Unreadable" if isinstance(element.body, BrokenEvent) else "Unknown type"
                yield f"### {word}: {_code(element.tag)}"
                yield _fenced(element.raw, "json")
            case kind:
                self._left_out[kind.TAG] += 1

    def _reply(self, reply: ChatResponse) -> Iterator[str]:
        if reply.variant == "reasoning" and not self._options.reasoning:
            self._left_out["reasoning"] += 1
            return
        yield "### Reasoning" if reply.variant == "reasoning" else "### Assistant"
        if reply.variant == "data":
            yield _fenced(_json(reply.content, indent=2), "json")
        else:
            yield _quoted(reply.content)


def _inquiry(inquiry: Inquiry) -> Iterator[str]:
    question = inquiry.asked.question
    yield _quoted(question.text)
    if question.context:
        yield _quoted(question.context)
    if inquiry.outcome is not None:
        yield outcome_line(inquiry.outcome)
    else:
        yield "No answer yet" if inquiry.state == "open" else "Unanswered"


def _quoted(text: str) -> str:
    """Return a text as a quote; nothing that it opens outlasts the quote."""
    return "\n".join(f"> {line}" if line else ">" for line in _LINE_END.split(text))


def _fenced(text: str, language: str = "") -> str:
    """Return a text in a fence that is longer than any run of backticks inside."""
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _code(text: str) -> str:
    """Return a text as code within a line."""
    ticks = "`" * (_longest(text) + 1)
    inner = _CONTROL.sub(_escaped, text)
    pad = " " if inner[:1] in ("`", " ") or inner[-1:] in ("`", " ") else ""
    return f"{ticks}{pad}{inner}{pad}{ticks}" if inner else "(no name)"


def _plain(text: str) -> str:
    """Return a text within a line, without meaning to Markdown."""
    return _PUNCTUATION.sub(r"\\\1", _CONTROL.sub(" ", text))


def _longest(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _escaped(control: re.Match[str]) -> str:
    return json.dumps(control[0])[1:-1]


def _json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)

"""Markdown export of a conversation, for people and for the record (RFD 082 *Reader behavior*).

Texts of the conversation are quoted or fenced, line by line, so that none of them can pass for
the structure around it. The lines ``Answer: …`` and ``Cancelled (…)`` are JP's own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from jpweb.stream import durations
from jpweb.stream.answer_type import format_answer
from jpweb.stream.events import (
    BrokenEvent,
    ChatRequest,
    ChatResponse,
    ToolCallResponse,
)
from jpweb.stream.inquiry import (
    Answered,
    CancellationReason,
    Cancelled,
    InquiryOutcome,
    InquiryResponse,
    Redacted,
)
from jpweb.stream.markdown import escaping, outcome_texts
from jpweb.stream.markdown.escaping import Block
from jpweb.stream.transcript.items import (
    InquiryPair,
    Item,
    StandaloneItem,
    ToolCall,
)

BLOCK_SEPARATOR = "\n\n"
#: Texts of decisions about a tool call and its result.
_DECISION_TEXTS = {
    ("run", True): "Allowed",
    ("run", False): "Denied",
    ("deliver", True): "Result sent to the model",
    ("deliver", False): "Result not sent to the model",
}
_WITHDRAWN_TEXT = "Withdrawn"
#: Singular and plural labels of omitted parts, by tag; those of events are the labels of pages.
OMISSION_LABELS = {
    "arguments": ("set of arguments", "sets of arguments"),
    "compaction": ("compaction", "compactions"),
    "config_delta": ("configuration change", "configuration changes"),
    "reasoning": ("reasoning block", "reasoning blocks"),
    "results": ("result", "results"),
    "turn_start": ("turn start", "turn starts"),
}


class ApprovalDecision(NamedTuple):
    """A person's decision about a tool call (``kind`` is *run*) or its result (*deliver*).

    ``words`` are those with which it was denied; empty without any. A withdrawn one ended before a
    decision.
    """

    kind: str
    is_allowed: bool
    is_edited: bool
    is_for_turn: bool
    decider: str
    asked_at: datetime
    settled_at: datetime | None
    words: str
    is_withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class MarkdownOptions:
    """The parts that are written besides messages, questions and outcomes."""

    title: str = ""
    #: Markdown below the title: where and when the export was made.
    origin: str = ""
    turns: bool = True
    arguments: bool = True
    results: bool = True
    reasoning: bool = False


def format_outcome(outcome: InquiryOutcome) -> str:
    """Return the line of an outcome: JP's, for every outcome.

    A reason of another version is written verbatim but for control characters, which could add
    lines; they are escaped as in JSON.
    """
    match outcome:
        case Answered(answer):
            return f"Answer: {_to_json(answer)}"
        case Redacted():
            return "Answer: <redacted>"
        case Cancelled(reason):
            return f"Cancelled ({escaping.escape_controls(reason.tag)})"


class MarkdownWriter:
    """Yields the Markdown of a conversation block by block; an empty line separates blocks.

    It counts what ``options`` leave out, so ``write_left_out`` comes last.
    """

    def __init__(self, options: MarkdownOptions) -> None:
        self._options = options
        self._left_out: Counter[str] = Counter()

    def write_title(self) -> Iterator[str]:
        """Yield title and origin, where there are any."""
        if self._options.title:
            yield f"# {escaping.escape_line(self._options.title)}"
        if self._options.origin:
            yield self._options.origin

    def write_turn(self, index: int, *, is_incomplete: bool) -> Iterator[str]:
        """Yield the heading of the turn with this index, which counts from 0."""
        if self._options.turns:
            yield f"## Turn {index + 1}{' (incomplete)' if is_incomplete else ''}"

    def write_left_out(self) -> Iterator[str]:
        """Yield the line that counts the parts left out, where there are any.

        A kind without a label is counted under its tag, so no export drops it silently.
        """
        unlabelled_tags = [tag for tag in self._left_out if tag not in OMISSION_LABELS]
        labels = OMISSION_LABELS | {
            tag: (f"{tag} event", f"{tag} events") for tag in unlabelled_tags
        }
        parts = [
            f"{self._left_out[tag]:,} {singular if self._left_out[tag] == 1 else plural}"
            for tag, (singular, plural) in labels.items()
            if self._left_out[tag]
        ]
        if parts:
            yield f"Omitted: {', '.join(parts)}."

    def write_item(self, item: Item, decisions: Sequence[ApprovalDecision] = ()) -> Iterator[Block]:
        """Yield the blocks of an item; ``decisions`` are those about a tool call."""
        match item:
            case ToolCall():
                yield from self._write_call(item, decisions)
            case StandaloneItem():
                yield from self._write_entry(item)
            case orphan:
                yield "### Question"
                yield from _write_inquiry(orphan.inquiry)

    def _write_call(self, item: ToolCall, decisions: Sequence[ApprovalDecision]) -> Iterator[Block]:
        yield f"### Tool call {escaping.make_code_span(item.call.name)}"
        if self._options.arguments:
            yield escaping.write_fence(_to_json(item.call.arguments, indent=2), "json")
        else:
            self._left_out["arguments"] += 1
        yield from _write_approvals(row for row in decisions if row.kind == "run")
        for group in item.question_groups:
            for attempt, inquiry in enumerate(group.attempts, start=1):
                number = f", attempt {attempt}" if len(group.attempts) > 1 else ""
                yield f"#### Question{number}"
                yield from _write_inquiry(inquiry)
        if item.response and isinstance(item.response.element.kind, ToolCallResponse):
            yield from self._write_result(item.response.element.kind)
        yield from _write_approvals(row for row in decisions if row.kind != "run")

    def _write_result(self, kind: ToolCallResponse) -> Iterator[Block]:
        if self._options.results:
            yield "#### Error" if kind.is_error else "#### Result"
            yield escaping.write_fence(kind.content)
        else:
            self._left_out["results"] += 1

    def _write_entry(self, entry: StandaloneItem) -> Iterator[Block]:
        element = entry.placed.element
        match element.kind:
            case ChatRequest(content=content, author=author):
                yield f"### {escaping.escape_line(author)}" if author else "### User"
                yield escaping.write_quote(content)
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
                yield f"### {label}: {escaping.make_code_span(element.tag)}"
                yield escaping.write_fence(element.raw, "json")
            case kind:
                self._left_out[kind.TAG] += 1

    def _write_reply(self, reply: ChatResponse) -> Iterator[Block]:
        if reply.variant == "reasoning" and not self._options.reasoning:
            self._left_out["reasoning"] += 1
            return
        yield "### Reasoning" if reply.variant == "reasoning" else "### Assistant"
        if reply.variant == "data":
            yield escaping.write_fence(_to_json(reply.content, indent=2), "json")
        else:
            yield escaping.write_quote(reply.content)


def _write_inquiry(inquiry: InquiryPair) -> Iterator[Block]:
    question = inquiry.inquiry_request.question
    yield escaping.write_quote(question.text)
    if question.context:
        yield escaping.write_quote(question.context)
    if inquiry.outcome is not None:
        yield format_outcome(inquiry.outcome)
        yield from _write_decision(inquiry)
    else:
        yield "No answer yet" if inquiry.state == "open" else "Unanswered"


def _write_decision(inquiry: InquiryPair) -> Iterator[Block]:
    """Yield the decider of a question, the time, the channel, and the words of a decline."""
    note = inquiry.response.note if inquiry.response else {}
    asked_at, settled_at = inquiry.asked_at, inquiry.settled_at
    decider = _name_decider(note.get("by"))
    words = note.get("note")
    text = words if isinstance(words, str) else ""
    channel = outcome_texts.read_channel(inquiry.outcome, note)
    channel_text = outcome_texts.ANSWER_CHANNELS.get(channel, "")
    line = _describe_decision(decider, asked_at, settled_at, channel_text)
    outcome_words = _describe_outcome(inquiry.outcome, channel)
    if outcome_words:
        line = f"{outcome_words}{' ' if decider else ', '}{line}"
    yield f"{line[:1].upper()}{line[1:]}{':' if text else '.'}"
    if text:
        yield escaping.write_quote(text)


def _describe_outcome(outcome: InquiryOutcome | None, channel: str) -> str:
    """Return the words of pages for an outcome; "" where JP's line already reads like them."""
    match outcome:
        case Answered(answer=bool() as answer):
            return f"Answered {format_answer(answer)}"
        case Cancelled(reason=CancellationReason() as reason):
            return outcome_texts.describe_reason(reason, channel)
        case _:
            return ""


def _write_approvals(decisions: Iterable[ApprovalDecision]) -> Iterator[Block]:
    """Yield a line for each decision about a call or its result, and the words of a denial."""
    for decision in decisions:
        text = _DECISION_TEXTS.get((decision.kind, decision.is_allowed), "Decided")
        text = _WITHDRAWN_TEXT if decision.is_withdrawn else text
        text += ", edited" if decision.is_edited else ""
        text += ", for this turn" if decision.is_for_turn else ""
        decider = escaping.escape_line(decision.decider)
        line = _describe_decision(decider, decision.asked_at, decision.settled_at)
        yield f"{text} {line}{':' if decision.words else '.'}" if line else f"{text}."
        if decision.words:
            yield escaping.write_quote(decision.words)


def _describe_decision(
    decider: str, asked_at: datetime | None, settled_at: datetime | None, channel: str = ""
) -> str:
    """Return by whom, when, after how long and by which channel; "" where nothing is known."""
    parts = [f"by {decider}"] if decider else []
    if settled_at:
        parts.append(f"{settled_at:%Y-%m-%d %H:%M:%S} UTC")
    if asked_at and settled_at and settled_at >= asked_at:
        duration_text = durations.format_duration((settled_at - asked_at).total_seconds())
        parts.append(f"after {duration_text}")
    if channel:
        parts.append(channel)
    return ", ".join(parts)


def _name_decider(by: Any) -> str:
    """Return the text of the decider in a note, as on pages; "" where the record has none."""
    if not isinstance(by, dict):
        return ""
    name, kind = (
        value if isinstance(value, str) else "" for value in (by.get("name"), by.get("kind"))
    )
    if not name and not kind:
        return ""
    return escaping.escape_line(outcome_texts.describe_decider(kind or "person", name))


def _to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)

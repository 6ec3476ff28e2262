"""Items of a turn: tool calls with their inquiries, and elements that belong to none."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from jpweb.stream.events import ConversationEvent, Element, ToolCallRequest
from jpweb.stream.inquiry import InquiryOutcome, InquiryRequest, InquiryResponse
from jpweb.stream.timestamps import parse_timestamp
from jpweb.stream.turns import Place


@dataclass(frozen=True, slots=True)
class PlacedElement:
    """An element with its position in the stream and the anchor of its permalink.

    Of a legacy element there is one for each of its events, in ``element``, as if it were alone;
    ``part`` counts them from 0 and ``legacy_tag`` is the tag of the legacy element.
    """

    position: int
    anchor: str
    element: Element
    part: int = 0
    legacy_tag: str = ""

    @property
    def place(self) -> Place:
        """The position and the index of the part."""
        return self.position, self.part

    @property
    def time(self) -> datetime | None:
        """When the event happened; None without a timestamp that JP reads."""
        body = self.element.body
        return parse_timestamp(body.timestamp) if isinstance(body, ConversationEvent) else None

    @property
    def note(self) -> dict[str, Any]:
        """The note of jpweb in the event's metadata, empty where there is none."""
        body = self.element.body
        return body.note if isinstance(body, ConversationEvent) else {}


InquiryState: TypeAlias = Literal["answered", "redacted", "cancelled", "open", "unanswered"]


@dataclass(frozen=True, slots=True)
class InquiryPair:
    """One question and its outcome.

    ``state`` is the outcome's tag; ``open`` while its tool call may still end it;
    ``unanswered`` where the turn went on without it.
    """

    request: PlacedElement
    response: PlacedElement | None
    state: InquiryState

    @property
    def inquiry_request(self) -> InquiryRequest:
        """The request's kind."""
        return cast(InquiryRequest, self.request.element.kind)

    @property
    def outcome(self) -> InquiryOutcome | None:
        """The outcome, or None where there is no response."""
        kind = self.response.element.kind if self.response else None
        return kind.outcome if isinstance(kind, InquiryResponse) else None

    @property
    def asked_at(self) -> datetime | None:
        """When the question was asked; None without a timestamp."""
        return self.request.time

    @property
    def settled_at(self) -> datetime | None:
        """When the outcome was recorded; None without one or without a timestamp."""
        return self.response.time if self.response else None

    @property
    def elements(self) -> list[PlacedElement]:
        """The request and, once it is there, the response."""
        return [self.request, self.response] if self.response else [self.request]


class QuestionAttempts(NamedTuple):
    """A question of a tool call with every attempt to have it answered, in order."""

    key: str
    attempts: list[InquiryPair]


@dataclass(slots=True)
class ToolCall:
    """A tool call with its inquiries and, once it is there, its result."""

    request: PlacedElement
    call: ToolCallRequest
    response: PlacedElement | None = None
    inquiries: list[InquiryPair] = field(default_factory=list)

    @property
    def first(self) -> int:
        """The position of the request."""
        return self.request.position

    @property
    def elements(self) -> list[PlacedElement]:
        """The request, the inquiries in their order, and the result."""
        inquiry_elements = [element for inquiry in self.inquiries for element in inquiry.elements]
        return [self.request, *inquiry_elements, *([self.response] if self.response else ())]

    @property
    def question_groups(self) -> list[QuestionAttempts]:
        """The inquiries by question, ordered by the first attempt.

        The same question has the same id as jpweb noted it, else the same text and answer type.
        """
        inquiries_by_key: dict[str, list[InquiryPair]] = defaultdict(list)
        for inquiry in self.inquiries:
            inquiries_by_key[_make_question_key(inquiry)].append(inquiry)
        return [QuestionAttempts(key, attempts) for key, attempts in inquiries_by_key.items()]


@dataclass(frozen=True, slots=True)
class StandaloneItem:
    """An element of no tool call: chat, overlays, unknown, broken, orphaned."""

    placed: PlacedElement
    orphan: bool = False

    @property
    def first(self) -> int:
        """The position of the element."""
        return self.placed.position

    @property
    def elements(self) -> list[PlacedElement]:
        """The one element."""
        return [self.placed]


@dataclass(frozen=True, slots=True)
class OrphanInquiry:
    """An inquiry without a tool call; it stays at its position."""

    inquiry: InquiryPair

    @property
    def first(self) -> int:
        """The position of the request."""
        return self.inquiry.request.position

    @property
    def elements(self) -> list[PlacedElement]:
        """The request and, once it is there, the response."""
        return self.inquiry.elements


#: Each has ``elements``, and ``first``, the position of the first of them.
Item: TypeAlias = StandaloneItem | ToolCall | OrphanInquiry


def _make_question_key(inquiry: InquiryPair) -> str:
    (event,) = inquiry.request.element.events
    question_id = event.note.get("question_id")
    if isinstance(question_id, str):
        return question_id
    question = inquiry.inquiry_request.question
    return json.dumps([question.text, question.answer_type.to_fields()])

"""What a reader sees of a turn: tool calls with their inquiries, and whatever stands alone."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias, cast

from jpweb.stream.events import Element, ToolCallRequest
from jpweb.stream.inquiry import InquiryRequest, InquiryResponse, Outcome
from jpweb.stream.turns import Place


@dataclass(frozen=True, slots=True)
class Placed:
    """An element with its position in the stream and the anchor of its permalink.

    Of a legacy element there is one for each of its events, in ``element`` as if it stood alone;
    ``part`` counts them from 0 and ``layout`` is the tag of the whole.
    """

    position: int
    anchor: str
    element: Element
    part: int = 0
    layout: str = ""

    @property
    def place(self) -> Place:
        """Where it stands."""
        return self.position, self.part


State: TypeAlias = Literal["answered", "redacted", "cancelled", "open", "unanswered"]


@dataclass(frozen=True, slots=True)
class Inquiry:
    """One question and how it ended.

    ``state`` is the outcome's tag; ``open`` while its tool call may still end it;
    ``unanswered`` where the turn went on without it.
    """

    request: Placed
    response: Placed | None
    state: State

    @property
    def asked(self) -> InquiryRequest:
        """The request's kind."""
        return cast(InquiryRequest, self.request.element.kind)

    @property
    def outcome(self) -> Outcome | None:
        """The outcome, or None where there is no response."""
        kind = self.response.element.kind if self.response else None
        return kind.outcome if isinstance(kind, InquiryResponse) else None

    @property
    def elements(self) -> list[Placed]:
        """The request and, once it is there, the response."""
        return [self.request, self.response] if self.response else [self.request]


class Question(NamedTuple):
    """A question of a tool call, with every attempt to have it answered, in order."""

    key: str
    attempts: list[Inquiry]


@dataclass(slots=True)
class ToolCall:
    """A tool call with its inquiries and, once it is there, its result."""

    request: Placed
    call: ToolCallRequest
    response: Placed | None = None
    inquiries: list[Inquiry] = field(default_factory=list)

    @property
    def first(self) -> int:
        """The position of the request."""
        return self.request.position

    @property
    def elements(self) -> list[Placed]:
        """The request, the inquiries in their order, and the result."""
        asked = [each for inquiry in self.inquiries for each in inquiry.elements]
        return [self.request, *asked, *([self.response] if self.response else ())]

    @property
    def groups(self) -> list[Question]:
        """The inquiries by question, in the order in which each was first asked.

        The same question has the same id as jpweb noted it, else the same text and answer type.
        """
        found: dict[str, list[Inquiry]] = defaultdict(list)
        for inquiry in self.inquiries:
            found[_question_key(inquiry)].append(inquiry)
        return [Question(key, attempts) for key, attempts in found.items()]


@dataclass(frozen=True, slots=True)
class Entry:
    """Anything that stands alone: chat, overlays, unknown, broken, orphaned."""

    placed: Placed
    orphan: bool = False

    @property
    def first(self) -> int:
        """Its position."""
        return self.placed.position

    @property
    def elements(self) -> list[Placed]:
        """What stands alone."""
        return [self.placed]


@dataclass(frozen=True, slots=True)
class StrayInquiry:
    """An inquiry that no tool call can claim; it stays where it stood."""

    inquiry: Inquiry

    @property
    def first(self) -> int:
        """The position of the request."""
        return self.inquiry.request.position

    @property
    def elements(self) -> list[Placed]:
        """The request and, once it is there, the response."""
        return self.inquiry.elements


#: Each has a position, ``first``, and ``elements``, of which the first one stands there.
Item: TypeAlias = Entry | ToolCall | StrayInquiry


def _question_key(inquiry: Inquiry) -> str:
    (event,) = inquiry.request.element.events
    noted = event.note.get("question_id")
    if isinstance(noted, str):
        return noted
    question = inquiry.asked.question
    return json.dumps([question.text, question.answer_type.to_fields()])

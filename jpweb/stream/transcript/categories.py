"""Category of an element for readers: one word, by which rows are counted, shown and filtered."""

from __future__ import annotations

from typing import Protocol

from jpweb.stream.events import (
    BrokenEvent,
    ChatResponse,
    EventKind,
    LegacyEvents,
    ToolCallResponse,
    UnknownEvent,
)
from jpweb.stream.inquiry import CancellationReason, Cancelled, InquiryResponse

#: Every category, in display order.
CATEGORIES = (
    "turn", "person", "message", "structure", "reasoning", "call", "result", "failure",
    "question", "outcome", "dropped", "configuration", "compaction", "legacy", "unknown", "broken",
)  # fmt: skip

#: Filter groups of a transcript; every category but ``turn`` is in exactly one.
CATEGORY_GROUPS = {
    "person": ("person",),
    "assistant": ("message", "structure"),
    "reasoning": ("reasoning",),
    "tools": ("call", "result", "failure"),
    "questions": ("question", "outcome", "dropped"),
    "configuration": ("configuration", "compaction"),
    "rest": ("legacy", "unknown", "broken"),
}

#: Tool errors, questions that ended without a person, and unreadable elements.
PROBLEM_CATEGORIES = ("failure", "dropped", "unknown", "broken")

_CATEGORY_BY_TAG = {
    "turn_start": "turn",
    "chat_request": "person",
    "tool_call_request": "call",
    "inquiry_request": "question",
    "config_delta": "configuration",
    "compaction": "compaction",
}
_CATEGORY_BY_VARIANT = {"message": "message", "reasoning": "reasoning", "data": "structure"}
_CATEGORY_BY_BODY: dict[type, str] = {
    LegacyEvents: "legacy",
    UnknownEvent: "unknown",
    BrokenEvent: "broken",
}


class SupportsCategory(Protocol):
    """The part of an element that categorizing reads: an ``Element`` or a ``PartialElement``."""

    @property
    def kind(self) -> EventKind | None:
        """The kind, or None for legacy, unknown and broken elements."""

    @property
    def body(self) -> object:
        """The body; read only where there is no kind."""


def categorize_element(element: SupportsCategory) -> str:
    """Return the category of an element, one of ``CATEGORIES``."""
    match element.kind:
        case None:
            return _CATEGORY_BY_BODY[type(element.body)]
        case ChatResponse(variant=variant):
            return _CATEGORY_BY_VARIANT[variant]
        case ToolCallResponse(is_error=failed):
            return "failure" if failed else "result"
        case InquiryResponse(outcome=outcome):
            is_cancelled = isinstance(outcome, Cancelled)
            return "dropped" if is_cancelled and not _is_by_person(outcome) else "outcome"
        case kind:
            return _CATEGORY_BY_TAG[kind.TAG]


def _is_by_person(outcome: object) -> bool:
    return isinstance(outcome, Cancelled) and outcome.reason.tag == CancellationReason.USER.tag

"""What an element is to a reader: one word each, by which rows are counted, shown and left out."""

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

#: Every facet, in the order in which people list them.
FACETS = (
    "turn", "person", "message", "structure", "reasoning", "call", "result", "failure",
    "question", "outcome", "dropped", "configuration", "compaction", "legacy", "unknown", "broken",
)  # fmt: skip

#: What a reader chooses by; every facet but ``turn`` is in exactly one.
GROUPS = {
    "person": ("person",),
    "assistant": ("message", "structure"),
    "reasoning": ("reasoning",),
    "tools": ("call", "result", "failure"),
    "questions": ("question", "outcome", "dropped"),
    "configuration": ("configuration", "compaction"),
    "rest": ("legacy", "unknown", "broken"),
}

#: What went wrong: a tool's error, a question that ended without a person, what cannot be read.
PROBLEMS = ("failure", "dropped", "unknown", "broken")

_BY_TAG = {
    "turn_start": "turn",
    "chat_request": "person",
    "tool_call_request": "call",
    "inquiry_request": "question",
    "config_delta": "configuration",
    "compaction": "compaction",
}
_BY_VARIANT = {"message": "message", "reasoning": "reasoning", "data": "structure"}
_WITHOUT_KIND: dict[type, str] = {
    LegacyEvents: "legacy",
    UnknownEvent: "unknown",
    BrokenEvent: "broken",
}


class Told(Protocol):
    """What this needs to know of an element: an ``Element``, or a glance at one."""

    @property
    def kind(self) -> EventKind | None:
        """The kind, or None for legacy, unknown and broken elements."""

    @property
    def body(self) -> object:
        """The body; looked at where there is no kind."""


def facet(element: Told) -> str:
    """Return the facet of an element, one of ``FACETS``."""
    match element.kind:
        case None:
            return _WITHOUT_KIND[type(element.body)]
        case ChatResponse(variant=variant):
            return _BY_VARIANT[variant]
        case ToolCallResponse(is_error=failed):
            return "failure" if failed else "result"
        case InquiryResponse(outcome=outcome):
            cancelled = isinstance(outcome, Cancelled)
            return "dropped" if cancelled and not _by_a_person(outcome) else "outcome"
        case kind:
            return _BY_TAG[kind.TAG]


def _by_a_person(outcome: object) -> bool:
    return isinstance(outcome, Cancelled) and outcome.reason.tag == CancellationReason.USER.tag

"""Category of an element for readers: one word, by which rows are counted, shown and filtered."""

from __future__ import annotations

from typing import Protocol

from jpweb.stream.events import BrokenEvent, EventKind, LegacyEvents, UnknownEvent

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
    kind = element.kind
    return _CATEGORY_BY_BODY[type(element.body)] if kind is None else kind.category

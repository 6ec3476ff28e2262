"""Counts of the elements, turns and inquiries of a stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from jpweb.stream.events import BrokenEvent, Element, UnknownEvent
from jpweb.stream.outline import build_outline


@dataclass(frozen=True, slots=True)
class StreamStats:
    """Counts of one stream. ``kinds`` adds up to all elements, unknown and broken ones included."""

    kinds: dict[str, int] = field(default_factory=dict)
    turns: int = 0
    inquiries: dict[str, int] = field(default_factory=dict)
    unknown: int = 0
    broken: int = 0

    @property
    def element_count(self) -> int:
        """The number of elements."""
        return sum(self.kinds.values())

    def to_json(self) -> dict[str, Any]:
        """Return the counts as they are printed."""
        return {
            "elements": self.element_count,
            "kinds": self.kinds,
            "turns": self.turns,
            "inquiries": self.inquiries,
            "unanswered": self.inquiries.get("unanswered", 0),
            "unknown": self.unknown,
            "broken": self.broken,
        }


def count_noun(count: int, noun: str) -> str:
    """Return a count with its noun: in the plural, but for one."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def count_stream(elements: Sequence[Element]) -> StreamStats:
    """Return the counts of a stream."""
    stream_outline = build_outline(elements)
    return StreamStats(
        kinds=dict(sorted(Counter(element.tag for element in elements).items())),
        turns=len(stream_outline.turns),
        inquiries=dict(sorted(stream_outline.count_states().items())),
        unknown=sum(isinstance(element.body, UnknownEvent) for element in elements),
        broken=sum(isinstance(element.body, BrokenEvent) for element in elements),
    )

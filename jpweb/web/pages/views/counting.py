"""What is left out, in words: how many of each."""

from __future__ import annotations

from collections.abc import Mapping

#: By facet, and by what else is counted: one, and several.
_WORDS = {
    "turn": ("beginning of a turn", "beginnings of turns"),
    "person": ("request of a person", "requests of people"),
    "message": ("message", "messages"),
    "structure": ("structured answer", "structured answers"),
    "reasoning": ("piece of reasoning", "pieces of reasoning"),
    "call": ("tool call", "tool calls"),
    "result": ("result", "results"),
    "failure": ("failed result", "failed results"),
    "stray": ("result that belongs to no call", "results that belong to no call"),
    "question": ("question with its outcome", "questions with their outcomes"),
    "outcome": ("outcome that belongs to no question", "outcomes that belong to no question"),
    "dropped": ("outcome that belongs to no question", "outcomes that belong to no question"),
    "configuration": ("change of configuration", "changes of configuration"),
    "compaction": ("compaction", "compactions"),
    "legacy": ("element of an older layout", "elements of older layouts"),
    "unknown": ("element of an unknown kind", "elements of unknown kinds"),
    "broken": ("element that cannot be read", "elements that cannot be read"),
}


def listed(counts: Mapping[str, int]) -> list[str]:
    """Say how many there are of each, those that occur."""
    return [
        f"{counts[name]:,} {one if counts[name] == 1 else several}"
        for name, (one, several) in _WORDS.items()
        if counts.get(name)
    ]

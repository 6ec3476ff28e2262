"""What is left out, in words: how many of each."""

from __future__ import annotations

from collections.abc import Mapping

#: By facet, and by what else is counted: one, and several.
_WORDS = {
    "turn": ("turn start", "turn starts"),
    "person": ("prompt", "prompts"),
    "message": ("message", "messages"),
    "structure": ("structured output", "structured outputs"),
    "reasoning": ("reasoning block", "reasoning blocks"),
    "call": ("tool call", "tool calls"),
    "result": ("result", "results"),
    "failure": ("failed result", "failed results"),
    "stray": ("result without a call", "results without a call"),
    "question": ("question with its outcome", "questions with their outcomes"),
    "outcome": ("outcome without a question", "outcomes without a question"),
    "dropped": ("outcome without a question", "outcomes without a question"),
    "configuration": ("configuration change", "configuration changes"),
    "compaction": ("compaction", "compactions"),
    "legacy": ("legacy event", "legacy events"),
    "unknown": ("event of an unknown type", "events of an unknown type"),
    "broken": ("unreadable event", "unreadable events"),
}


def listed(counts: Mapping[str, int]) -> list[str]:
    """Say how many there are of each, those that occur."""
    return [
        f"{counts[name]:,} {one if counts[name] == 1 else several}"
        for name, (one, several) in _WORDS.items()
        if counts.get(name)
    ]

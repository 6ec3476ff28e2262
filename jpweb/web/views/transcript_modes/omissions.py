"""Counts of omitted items, in words."""

from __future__ import annotations

from collections.abc import Mapping

#: Singular and plural labels, by category and by other counts.
_COUNT_LABELS = {
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


def describe_counts(counts: Mapping[str, int]) -> list[str]:
    """Return each non-zero count with its label."""
    return [
        f"{counts[name]:,} {singular if counts[name] == 1 else plural}"
        for name, (singular, plural) in _COUNT_LABELS.items()
        if counts.get(name)
    ]

"""Compactions of a conversation, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jpweb.stream.compaction import CompactionOverlays, TurnPolicy
from jpweb.web import display_text

if TYPE_CHECKING:
    from jpweb.store.transcript.raw_entries import CompactionEntry

#: Compactions listed on a page.
MAX_COMPACTIONS = 20


def list_compactions(compactions: Sequence[CompactionEntry]) -> dict[str, Any]:
    """Return the newest compactions for a template, and the number of older ones."""
    return {
        "compactions": [
            _describe_compaction(compaction)
            for compaction in compactions[: -MAX_COMPACTIONS - 1 : -1]
        ],
        "older_count": max(len(compactions) - MAX_COMPACTIONS, 0),
    }


def _describe_compaction(compaction: CompactionEntry) -> dict[str, Any]:
    """Return a compaction's turns and effects for a template."""
    kind = compaction.overlay.kind
    policy = CompactionOverlays([compaction.overlay]).get_policy(kind.from_turn)
    return {
        "anchor": compaction.anchor,
        "first": kind.from_turn + 1,
        "last": kind.to_turn + 1,
        "effects": describe_policy(policy),
        "is_empty": kind.from_turn > kind.to_turn,
    }


def describe_policy(policy: TurnPolicy) -> list[str]:
    """Return the effects of a policy on a turn, in words."""
    if policy.summary is not None:
        return [display_text.SUMMARIZED]
    effects = {
        display_text.REASONING_OMITTED: policy.strip_reasoning,
        display_text.CALLS_OMITTED: policy.omit_calls,
        display_text.ARGUMENTS_OMITTED: policy.strip_arguments,
        display_text.RESULTS_OMITTED: policy.strip_results,
    }
    return [text for text, applies in effects.items() if applies]

"""What compactions do to a conversation, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jpweb.stream.compaction import Overlays, Policy

if TYPE_CHECKING:
    from jpweb.store.browsing.record import Shortening

#: Compactions that a page lists.
MOST = 20


def listed(found: Sequence[Shortening]) -> dict[str, Any]:
    """Return the newest compactions for a template to list, and how many older ones there are."""
    return {
        "shortenings": [_told(each) for each in found[: -MOST - 1 : -1]],
        "older": max(len(found) - MOST, 0),
    }


def _told(found: Shortening) -> dict[str, Any]:
    """Return what a compaction does, for people to read."""
    kind = found.overlay.kind
    policy = Overlays([found.overlay]).policy(kind.from_turn)
    return {
        "anchor": found.anchor,
        "first": kind.from_turn + 1,
        "last": kind.to_turn + 1,
        "does": deeds(policy),
        "is_empty": kind.from_turn > kind.to_turn,
    }


def deeds(policy: Policy) -> list[str]:
    """Say what a policy does to a turn."""
    if policy.summary is not None:
        return ["replaced by a summary"]
    said = {
        "reasoning omitted": policy.strip_reasoning,
        "tool calls omitted": policy.omit_calls,
        "tool call arguments omitted": policy.strip_arguments,
        "tool results omitted": policy.strip_results,
    }
    return [word for word, is_so in said.items() if is_so]

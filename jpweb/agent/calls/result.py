"""What a call, and a question of it, come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jpweb.agent.outcome import Kept
from jpweb.stream.inquiry import CancellationReason


@dataclass(frozen=True, slots=True)
class Result:
    """What the model gets for a call. ``edited``: the arguments that a person gave it instead."""

    content: str
    is_error: bool = False
    edited: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Left:
    """What is known of calls that an earlier process left, besides what the journal says.

    ``kept``: what they had come to. ``waiting``: those that waited for a prompt's decision.
    """

    kept: Mapping[str, Kept] = field(default_factory=dict)
    waiting: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Given:
    """An answer for the tool."""

    value: Any = field(repr=False)  # may be a secret, and reprs end up in logs


@dataclass(frozen=True, slots=True)
class Unanswered:
    """No answer: why, and what the call comes to."""

    reason: CancellationReason
    result: Result

"""The results of a call and of a question of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jpweb.agent.tool_outcome import CallProgress
from jpweb.stream.inquiry import CancellationReason


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a call for the model. ``edited``: the arguments that a person substituted."""

    content: str
    is_error: bool = False
    edited: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ResumedCalls:
    """The calls that an earlier process left unfinished, besides the journal.

    ``progress``: their saved progress. ``waiting_ids``: those that waited for a prompt's decision.
    """

    progress: Mapping[str, CallProgress] = field(default_factory=dict)
    waiting_ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """An answer for the tool."""

    value: Any = field(repr=False)  # may be a secret, and reprs end up in logs


@dataclass(frozen=True, slots=True)
class Unanswered:
    """No answer: the reason, and the result of the call."""

    reason: CancellationReason
    result: CallResult

"""The results of a call and of a question of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from jpweb.agent.tool_outcome import CallProgress, Failed, Success
from jpweb.stream.inquiry import CancellationReason


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a call for the model. ``edited``: the arguments that a person substituted.

    ``policies``: the notes of the policies that decided in place of a person, ``permission`` about
    the call and ``delivery`` about its result.
    """

    content: str
    is_error: bool = False
    edited: Mapping[str, Any] | None = None
    policies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def from_execution(cls, execution: Success | Failed) -> Self:
        """Return the result of a tool that ran, or could not."""
        match execution:
            case Success(content):
                return cls(content)
            case Failed(message):
                return cls(message, is_error=True)

    def to_metadata(self, *, is_rerun: bool) -> dict[str, Any]:
        """Return jpweb's note beside the response: the call itself does not hold it."""
        note: dict[str, Any] = {"again": True} if is_rerun else {}
        if self.edited is not None:
            note["arguments"] = dict(self.edited)
        note |= {name: dict(policy) for name, policy in self.policies.items()}
        return {"jpweb": note} if note else {}


@dataclass(frozen=True, slots=True)
class Permission:
    """The arguments that a call may run with; ``edited`` and ``policies`` as in CallResult."""

    arguments: Mapping[str, Any]
    edited: Mapping[str, Any] | None = None
    policies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


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
class MissingAnswer:
    """No answer: the reason, and the result of the call."""

    reason: CancellationReason
    result: CallResult

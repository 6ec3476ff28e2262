"""Errors of a turn.

* AgentError
  + ProviderFailed        the provider gave no usable reply; the message says why
  + InquiryFailed         a secondary assistant could not answer a question
  + SettlementConflict    another writer settled the question first
  + InvalidConfiguration  a configured value is not allowed; names file, key and allowed values
  + ToolUnavailable       a tool or its server cannot be used now; the message says why
"""

from __future__ import annotations

from enum import StrEnum


class AgentError(Exception):
    """Base class of this package's errors."""


class FailureKind(StrEnum):
    """The reasons why a provider gave no usable reply."""

    CONTEXT_LENGTH = "context_length"
    RATE_LIMIT = "rate_limit"
    REFUSAL = "refusal"
    TRUNCATED = "truncated"
    WRONG_KEY = "wrong_key"
    UNAVAILABLE = "unavailable"
    BROKEN_OFF = "broken_off"
    BAD_REQUEST = "bad_request"


#: Failures that a retry may resolve.
TRANSIENT_FAILURES = frozenset(
    {FailureKind.RATE_LIMIT, FailureKind.UNAVAILABLE, FailureKind.BROKEN_OFF}
)


class ProviderFailed(AgentError):
    """The provider gave no usable reply. ``retry_after`` is its own advice, in seconds."""

    def __init__(
        self,
        message: str,
        kind: FailureKind = FailureKind.BROKEN_OFF,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after


class InquiryFailed(AgentError):
    """A secondary assistant could not answer a question; the message says why."""


class SettlementConflict(AgentError):
    """A question was settled by another writer first; the prompter returns its outcome."""


class InvalidConfiguration(AgentError):
    """A configured value is not allowed. The message names file, key and allowed values."""


class ToolUnavailable(AgentError):
    """A tool or its server cannot be used now; the message says why."""

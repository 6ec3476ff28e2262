"""What can go wrong in a turn.

* AgentError
  + ProviderFailed   the provider did not give a usable reply; the message says why
  + InquiryFailed    a secondary assistant could not answer a question
  + Settled          somebody or something settled a question first
  + BadConfiguration a value of a configuration is not allowed; names file, key and what is
  + ToolUnavailable  a tool or its server cannot be used now; the message says why
"""

from __future__ import annotations

from enum import StrEnum


class AgentError(Exception):
    """Base of everything this package raises."""


class FailureKind(StrEnum):
    """What kept a provider from a usable reply."""

    CONTEXT_LENGTH = "context_length"
    RATE_LIMIT = "rate_limit"
    REFUSAL = "refusal"
    TRUNCATED = "truncated"
    WRONG_KEY = "wrong_key"
    UNAVAILABLE = "unavailable"
    BROKEN_OFF = "broken_off"
    BAD_REQUEST = "bad_request"


#: What may go away by itself.
PASSING = frozenset({FailureKind.RATE_LIMIT, FailureKind.UNAVAILABLE, FailureKind.BROKEN_OFF})


class ProviderFailed(AgentError):
    """The provider did not give a usable reply. ``retry_after`` is its own advice, in seconds."""

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


class Settled(AgentError):
    """Somebody or something settled a question first; the prompter knows its outcome."""


class BadConfiguration(AgentError):
    """A configured value is not allowed. One message names the file, the key and what is."""


class ToolUnavailable(AgentError):
    """A tool or its server cannot be used now; the message says why."""

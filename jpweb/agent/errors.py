"""What can go wrong in a turn.

* AgentError
  + ProviderFailed   the provider did not give a usable reply; the message says why
"""

from __future__ import annotations


class AgentError(Exception):
    """Base of everything this package raises."""


class ProviderFailed(AgentError):
    """The provider did not give a usable reply."""

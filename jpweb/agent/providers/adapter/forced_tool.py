"""Forcing a tool where the vendor refuses to while the model reasons: the choice becomes a nudge.

Anthropic refuses a forced choice with thinking, and OpenRouter would drop the reasoning.
"""

from __future__ import annotations

from dataclasses import replace

from jpweb.agent.ports import ProviderRequest

_OPEN_CHOICES = ("auto", "none")


def is_forced(request: ProviderRequest) -> bool:
    """Tell whether a request leaves the model no choice but to call a tool."""
    return bool(request.tools) and request.tool_choice not in _OPEN_CHOICES


def soften_choice(request: ProviderRequest, *, is_nudge_first: bool) -> ProviderRequest:
    """Return the request with a free choice, and a system part that asks for the call."""
    is_any = request.tool_choice == "required"
    wanted = "at least one of your tools" if is_any else f"the tool “{request.tool_choice}”"
    nudge = (
        f"You must call {wanted} now. Do not answer in words instead, do not ask questions, and "
        "do not ask for more context first."
    )
    system = request.parts.system
    parts = replace(request.parts, system=(nudge, *system) if is_nudge_first else (*system, nudge))
    return replace(request, parts=parts, tool_choice="auto")

"""Forcing a tool where the vendor refuses to while the model reasons: the choice becomes a nudge.

Anthropic refuses a forced choice with thinking, and OpenRouter would drop the reasoning. Where a
vendor reads no name as a choice, the tool is offered alone.
"""

from __future__ import annotations

from dataclasses import replace

from jpweb.agent.ports import ProviderRequest

#: Sent after a reply without the call, firmer each time.
_NUDGES = (
    "You did not call {wanted}. Call it now, without any text.",
    "You have failed twice to call {wanted}. Call it now. Write nothing else.",
    "This is the final attempt: call {wanted} now. Any other reply counts as a failure.",
)


def describe_nudge(request: ProviderRequest) -> str:
    """Return the message that asks again for the forced call, "" where none is missing."""
    if not request.nudge_count or not request.forces_tool:
        return ""
    return _NUDGES[min(request.nudge_count, len(_NUDGES)) - 1].format(wanted=_name_wanted(request))


def soften_choice(request: ProviderRequest, *, is_nudge_first: bool) -> ProviderRequest:
    """Return the request with a free choice, and a system part that asks for the call."""
    nudge = (
        f"You must call {_name_wanted(request)} now. Do not answer in words instead, do not "
        "ask questions, and do not ask for more context first."
    )
    system = request.parts.system
    parts = replace(request.parts, system=(nudge, *system) if is_nudge_first else (*system, nudge))
    return replace(request, parts=parts, tool_choice="auto")


def offer_alone(request: ProviderRequest) -> ProviderRequest:
    """Return the request with the tool that is forced by its name as the only one."""
    tools = tuple(tool for tool in request.tools if tool.name == request.tool_choice)
    return replace(request, tools=tools, tool_choice="required") if tools else request


def _name_wanted(request: ProviderRequest) -> str:
    is_any = request.tool_choice == "required"
    return "at least one of your tools" if is_any else f"the tool “{request.tool_choice}”"

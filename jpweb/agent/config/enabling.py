"""Whether a tool is on, who may switch it, and what becomes of it (RFD 081)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jpweb.agent.config.layers import Layer
from jpweb.agent.config.tables import Table, one_of
from jpweb.agent.config.values import AllowToggle, Detached, Enable, ToolConfig
from jpweb.agent.errors import BadConfiguration

#: What one word stands for.
SHORTHANDS: Mapping[bool | str, Enable] = {
    True: Enable(True, AllowToggle.ANY),
    "on": Enable(True, AllowToggle.ANY),
    False: Enable(False, AllowToggle.ANY),
    "off": Enable(False, AllowToggle.ANY),
    "always": Enable(True, AllowToggle.NEVER),
    "explicit": Enable(False, AllowToggle.IF_NAMED),
}
KINDS = ("run", "deliver", "tool")
#: Who may be switched by its own name.
BY_NAME = (AllowToggle.ANY, AllowToggle.IF_NAMED, AllowToggle.IF_NAMED_OR_GROUP)


def spelled_out(layer: Layer) -> Layer:
    """Return the layer with the one-word forms of its tools written as tables.

    So a layer above that sets one field of them keeps the others.
    """
    conversation = layer.values.get("conversation")
    tools = conversation.get("tools") if isinstance(conversation, Mapping) else None
    if not isinstance(conversation, Mapping) or not isinstance(tools, Mapping):
        return layer
    entries = {
        name: _spelled_out(entry) if isinstance(entry, Mapping) else entry
        for name, entry in tools.items()
    }
    whole = {**layer.values, "conversation": {**conversation, "tools": entries}}
    return Layer(layer.name, whole)


def shorthand(value: Any) -> Enable | None:
    """Return what one word stands for, None where it is none."""
    return SHORTHANDS.get(value) if isinstance(value, bool | str) else None


def enable(tool: Table, *below: Enable | None) -> Enable:
    """Return the tool's own setting, each field from below where it says nothing of it."""
    inherited = next((each for each in below if each is not None), Enable())
    return enable_or_none(tool, inherited) or inherited


def enable_or_none(tool: Table, inherited: Enable | None = None) -> Enable | None:
    """Return the setting that a table has, None where it has none."""
    value = tool.get("enable")
    if value is None:
        return None
    if not isinstance(value, Mapping):
        words = ("true", "false", *(f'"{word}"' for word in SHORTHANDS if isinstance(word, str)))
        raise tool.refuse("enable", one_of(*words, "a table of state and allow_toggle"))
    inner = tool.table("enable")
    base = inherited or Enable()
    state, toggle = inner.flag("state"), inner.choice("allow_toggle", AllowToggle)
    for key in inner.values:
        if key not in inner.known:
            raise BadConfiguration(
                f"{inner.place(key)} is not known. Here are only state and allow_toggle."
            )
    return Enable(
        base.state if state is None else state,
        base.allow_toggle if toggle is None else toggle,
    )


def toggled(
    tools: Mapping[str, ToolConfig], named: Mapping[str, bool], every: bool | None = None
) -> dict[str, ToolConfig]:
    """Return the tools after all were switched (``every``), then each of the ``named`` ones.

    Who may not be switched with all others stays as it is; who may not be switched by name either
    raises BadConfiguration, and so does a name that no tool has.
    """
    whole = dict(tools)
    if every is not None:
        for name, tool in tools.items():
            if tool.enable.allow_toggle is AllowToggle.ANY:
                whole[name] = _switched(tool, every)
    for name, on in named.items():
        if name not in whole:
            raise BadConfiguration(f"Unknown tool “{name}”.")
        whole[name] = _switched_by_name(whole[name], on)
    return whole


def _switched_by_name(tool: ToolConfig, on: bool) -> ToolConfig:
    if tool.enable.state is not on and tool.enable.allow_toggle not in BY_NAME:
        locked = "enabled" if tool.enable.state else "disabled"
        raise BadConfiguration(
            f"The tool “{tool.name}” is locked ({locked}): its allow_toggle is “never”."
        )
    return _switched(tool, on)


def _switched(tool: ToolConfig, on: bool) -> ToolConfig:
    return replace(tool, enable=replace(tool.enable, state=on))


def _spelled_out(entry: Mapping[str, Any]) -> dict[str, Any]:
    whole = dict(entry)
    meant = shorthand(entry.get("enable"))
    if meant is not None:
        whole["enable"] = {"state": meant.state, "allow_toggle": meant.allow_toggle.value}
    detached = entry.get("detached")
    if isinstance(detached, str) and detached in list(Detached):
        whole["detached"] = dict.fromkeys(KINDS, detached)
    return whole

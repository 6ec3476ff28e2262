"""Toggles of tools: whether a tool is enabled, and how it may be switched (RFD 081)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jpweb.agent.config.layers import Layer
from jpweb.agent.config.table_reader import TableReader, join_choices
from jpweb.agent.config.types import AllowToggle, DetachedPolicy, EnableConfig, ToolConfig
from jpweb.agent.errors import InvalidConfiguration

#: The one-word forms of ``enable`` (RFD 081).
SHORTHANDS: Mapping[bool | str, EnableConfig] = {
    True: EnableConfig(True, AllowToggle.ANY),
    "on": EnableConfig(True, AllowToggle.ANY),
    False: EnableConfig(False, AllowToggle.ANY),
    "off": EnableConfig(False, AllowToggle.ANY),
    "always": EnableConfig(True, AllowToggle.NEVER),
    "explicit": EnableConfig(False, AllowToggle.IF_NAMED),
}
DETACHED_KINDS = ("run", "deliver", "tool")
#: Values of ``allow_toggle`` with which a tool may be switched by its name.
NAMED_TOGGLES = (AllowToggle.ANY, AllowToggle.IF_NAMED, AllowToggle.IF_NAMED_OR_GROUP)


def expand_shorthands(layer: Layer) -> Layer:
    """Return the layer with the one-word forms of its tools written as tables.

    So a layer above that sets one field of them keeps the others.
    """
    conversation = layer.values.get("conversation")
    tools = conversation.get("tools") if isinstance(conversation, Mapping) else None
    if not isinstance(conversation, Mapping) or not isinstance(tools, Mapping):
        return layer
    entries = {
        name: _expand_tool(entry) if isinstance(entry, Mapping) else entry
        for name, entry in tools.items()
    }
    expanded_values = {**layer.values, "conversation": {**conversation, "tools": entries}}
    return Layer(layer.name, expanded_values)


def read_shorthand(value: Any) -> EnableConfig | None:
    """Return the setting of a one-word form, None where it is none."""
    return SHORTHANDS.get(value) if isinstance(value, bool | str) else None


def resolve_enable(tool: TableReader, *fallbacks: EnableConfig | None) -> EnableConfig:
    """Return the tool's setting; absent fields come from the first fallback that is set."""
    inherited_enable = next(
        (setting for setting in fallbacks if setting is not None), EnableConfig()
    )
    return read_enable(tool, inherited_enable) or inherited_enable


def read_enable(
    tool: TableReader, inherited_enable: EnableConfig | None = None
) -> EnableConfig | None:
    """Return the setting that a table has, None where it has none."""
    value = tool.get("enable")
    if value is None:
        return None
    if not isinstance(value, Mapping):
        choices = (
            "true",
            "false",
            *(f'"{choice}"' for choice in SHORTHANDS if isinstance(choice, str)),
        )
        raise tool.make_error("enable", join_choices(*choices, "a table of state and allow_toggle"))
    enable_table = tool.get_table("enable")
    base = inherited_enable or EnableConfig()
    state, toggle = (
        enable_table.get_flag("state"),
        enable_table.get_choice("allow_toggle", AllowToggle),
    )
    for key in enable_table.values:
        if key not in enable_table.known_keys:
            raise InvalidConfiguration(
                f"{enable_table.locate_key(key)} is not known. "
                "Only state and allow_toggle are allowed here."
            )
    return EnableConfig(
        base.state if state is None else state,
        base.allow_toggle if toggle is None else toggle,
    )


def toggle_tools(
    tools: Mapping[str, ToolConfig],
    states_by_name: Mapping[str, bool],
    state_for_all: bool | None = None,
) -> dict[str, ToolConfig]:
    """Return the tools after switching all (``state_for_all``), then those of ``states_by_name``.

    A tool that may not be switched with all others stays unchanged; one that may not be switched by
    name either raises InvalidConfiguration, and so does an unknown name.
    """
    toggled_tools = dict(tools)
    if state_for_all is not None:
        for name, tool in tools.items():
            if tool.enable.allow_toggle is AllowToggle.ANY:
                toggled_tools[name] = _switch_tool(tool, state_for_all)
    for name, is_on in states_by_name.items():
        if name not in toggled_tools:
            raise InvalidConfiguration(f"Unknown tool “{name}”.")
        toggled_tools[name] = _switch_by_name(toggled_tools[name], is_on)
    return toggled_tools


def _switch_by_name(tool: ToolConfig, is_on: bool) -> ToolConfig:
    if tool.enable.state is not is_on and tool.enable.allow_toggle not in NAMED_TOGGLES:
        locked_state = "enabled" if tool.enable.state else "disabled"
        raise InvalidConfiguration(
            f"The tool “{tool.name}” is locked ({locked_state}): its allow_toggle is “never”."
        )
    return _switch_tool(tool, is_on)


def _switch_tool(tool: ToolConfig, is_on: bool) -> ToolConfig:
    return replace(tool, enable=replace(tool.enable, state=is_on))


def _expand_tool(entry: Mapping[str, Any]) -> dict[str, Any]:
    expanded_entry = dict(entry)
    setting = read_shorthand(entry.get("enable"))
    if setting is not None:
        expanded_entry["enable"] = {
            "state": setting.state,
            "allow_toggle": setting.allow_toggle.value,
        }
    detached_value = entry.get("detached")
    if isinstance(detached_value, str) and detached_value in list(DetachedPolicy):
        expanded_entry["detached"] = dict.fromkeys(DETACHED_KINDS, detached_value)
    return expanded_entry

"""The setup of a turn: its system prompt, tools and limits, besides its ports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jpweb.agent.config import DetachedPolicy, EnableConfig, RequestConfig, ToolConfig
from jpweb.agent.ports import BuiltinTool, FormatArguments, OutsideTool, PermissionSource
from jpweb.agent.tools import BUILTINS
from jpweb.agent.tools.describe_tools import DescribeTools
from jpweb.stream.thread import SystemPart


def make_default_config(tool: BuiltinTool) -> ToolConfig:
    """Return the default configuration of a built-in."""
    enable = getattr(tool, "ENABLE", EnableConfig())
    return ToolConfig(tool.NAME, tool.DESCRIPTION, tool.PARAMETERS, tool.QUESTIONS, enable=enable)


def list_builtin_configs() -> list[ToolConfig]:
    """Return the configurations of all built-ins, for the workspace's to be laid over."""
    return [make_default_config(tool) for tool in (*BUILTINS, DescribeTools(()))]


@dataclass(frozen=True, slots=True)
class TurnSetup:
    """The prompt that a model gets, the tools that it may call, and the cycle limit.

    A tool exists where it is offered in ``tools`` and found among the ``builtins`` or, by its
    name, among those ``outside``. ``formatters`` show the arguments of those tools whose calls may
    be formatted before a person permits them. ``unavailable`` holds the reasons why others are not
    offered.
    ``detached`` is the policy for prompts while no person is reachable, where a tool has none.
    ``definitions`` are short texts by tool that change with the effect of a call of the tool: a
    permission or answer holds for a tool while its text is the same. ``permission_sources`` are
    those of decisions for the rest of the turn, by tool and definition. ``cache_key`` names the
    conversation to vendors that cache prompts.
    """

    system: tuple[str | SystemPart, ...] = ()
    tools: tuple[ToolConfig, ...] = tuple(make_default_config(tool) for tool in BUILTINS)
    builtins: tuple[BuiltinTool, ...] = BUILTINS
    outside: Mapping[str, OutsideTool] = field(default_factory=dict)
    formatters: Mapping[str, FormatArguments] = field(default_factory=dict)
    unavailable: Mapping[str, str] = field(default_factory=dict)
    detached: DetachedPolicy = DetachedPolicy.WAIT
    tool_choice: str = "auto"
    request: RequestConfig = field(default_factory=RequestConfig)
    cycle_limit: int = 50
    definitions: Mapping[str, str] = field(default_factory=dict)
    permission_sources: Mapping[tuple[str, str], PermissionSource] = field(default_factory=dict)
    cache_key: str = ""


#: Every built-in tool with its default configuration, and no system prompt.
UNCONFIGURED_SETUP = TurnSetup()

"""What a turn works with besides its ports."""

from __future__ import annotations

from dataclasses import dataclass

from jpweb.agent.config import ToolConfig
from jpweb.agent.executor import default_config
from jpweb.agent.ports import BuiltinTool
from jpweb.agent.tools import BUILTINS


@dataclass(frozen=True, slots=True)
class Setup:
    """What the model is told, what it may call, and for how long.

    A tool is there when it is both offered in ``tools`` and found among the ``builtins``.
    """

    system: tuple[str, ...] = ()
    tools: tuple[ToolConfig, ...] = tuple(default_config(tool) for tool in BUILTINS)
    builtins: tuple[BuiltinTool, ...] = BUILTINS
    cycle_limit: int = 50


#: Every built-in tool as it comes, and no system prompt.
UNCONFIGURED = Setup()

"""The built-in tools. To add one: a file here, and its class in ``BUILTINS``."""

from __future__ import annotations

from jpweb.agent.ports import BuiltinTool
from jpweb.agent.tools.ask_user import AskUser
from jpweb.agent.tools.demo_vault import DemoVault

BUILTINS: tuple[BuiltinTool, ...] = (AskUser(), DemoVault())

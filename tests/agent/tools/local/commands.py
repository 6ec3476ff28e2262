"""Local tools of a few lines, and what it takes to run them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jpweb.agent.config import LocalSource, ToolCommand, ToolConfig
from jpweb.agent.ports import Answer, Declined
from jpweb.agent.tool_outcome import Question, ToolOutcome
from jpweb.agent.tools.local import LocalTool, ProcessLimits, ToolContext

PARAMETERS = {"type": "object", "properties": {}}
BRIEF = ProcessLimits(seconds=20.0, grace=0.2)


def make_config(command: ToolCommand, **options: Any) -> ToolConfig:
    return ToolConfig("probe", "", PARAMETERS, source=LocalSource("inner", command), **options)


def make_python_command(code: str, *args: str) -> ToolCommand:
    """A tool in Python; its arguments are templates, its code is none."""
    return ToolCommand(sys.executable, ("-c", "{% raw %}" + code + "{% endraw %}", *args))


def make_shell_command(text: str, *args: str) -> ToolCommand:
    return by_shell("{% raw %}" + text + "{% endraw %}", *args)


def by_shell(program: str, *args: str) -> ToolCommand:
    return ToolCommand(program, args, shell=True)  # noqa: S604  no call of a shell


async def refuse_question(question: Question) -> Answer | Declined:
    raise AssertionError("a local tool asks by its output")


async def run_tool(
    command: ToolCommand, root: Path, arguments: Any = None, answers: Any = None, **options: Any
) -> ToolOutcome:
    limits = options.pop("limits", BRIEF)
    tool = LocalTool(make_config(command, **options), ToolContext(root, "otvo8", "jp-c1"), limits)
    return await tool.execute(arguments or {}, answers or {}, refuse_question)


def announce(pid: str = "$$") -> str:
    """Shell code that says its process id where ``pids`` reads it."""
    return f"echo {pid} > pid.part && mv pid.part pid"


def has_ended(pid: int) -> bool:
    """Tell whether the process has ended; nobody need have taken note of it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


async def wait_until(condition: Callable[[], object], seconds: float = 20) -> None:
    """Look again until it holds: other processes send no signals here."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  another process has no event to set
            await asyncio.sleep(0.01)


async def wait_for_pids(root: Path) -> list[int]:
    """Wait for the process ids that a tool writes to a file ``pid``."""
    await wait_until((root / "pid").exists)
    return [int(word) for word in (root / "pid").read_text().split()]

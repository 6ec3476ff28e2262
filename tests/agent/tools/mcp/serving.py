"""MCP servers that really run, and calls to them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jpweb.agent.config import McpServer, McpSource, ToolConfig
from jpweb.agent.ports import Answer, AskQuestion, Declined
from jpweb.agent.tool_outcome import Question
from jpweb.agent.tools.mcp import McpConnections
from jpweb.stream.inquiry import CancellationReason
from tests.machine.ports import LOOPBACK, end_process, free_port, is_accepting, wait_until

SERVER_FOLDER = Path(__file__).parent / "servers"
SERVER, LIGHT, OLDER = (str(SERVER_FOLDER / f"{name}.py") for name in ("server", "light", "older"))


def make_stdio_server(
    *arguments: str, file: str = LIGHT, name: str = "probe", **options: Any
) -> McpServer:
    """Configure a server that is a command: the light one, unless the SDK's is the fact."""
    return McpServer(name, sys.executable, (file, *(arguments or ("stdio",))), **options)


@contextmanager
def over_http() -> Iterator[str]:
    """Yield the address of a server that listens on loopback."""
    port = free_port()
    with subprocess.Popen(
        [sys.executable, SERVER, "http", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            wait_until(lambda: is_accepting(port), "the MCP server listens")
            yield f"http://{LOOPBACK}:{port}/mcp"
        finally:
            end_process(process)


def make_tool_config(tool: str, server: str = "probe", **options: Any) -> ToolConfig:
    parameters = options.pop("parameters", {})
    return ToolConfig(
        tool, options.pop("description", ""), parameters, source=McpSource(server, tool), **options
    )


async def call_tool(
    connections: McpConnections, tool: str, arguments: Any = None, ask: AskQuestion | None = None
) -> Any:
    return await connections.make_tool(make_tool_config(tool)).execute(
        arguments or {}, {}, ask or refuse_question
    )


async def refuse_question(question: Question) -> Answer | Declined:
    raise AssertionError(f"nobody expected {question}")


class ScriptedPerson:
    """Gives the answers in their order and remembers what was asked."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.questions: list[Question] = []

    async def __call__(self, question: Question) -> Answer | Declined:
        self.questions.append(question)
        answer = self._answers.pop(0)
        if isinstance(answer, CancellationReason):
            return Declined(answer)
        return Answer(answer)

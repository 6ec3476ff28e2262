"""MCP servers that really run, and calls to them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jpweb.agent.config import Mcp, McpServer, ToolConfig
from jpweb.agent.ports import Answer, AskQuestion, Declined
from jpweb.agent.tool_outcome import Question
from jpweb.agent.tools.mcp import McpConnections
from jpweb.stream.inquiry import CancellationReason
from tests.machine.ports import LOOPBACK, accepts, end, free_port, wait_until

HERE = Path(__file__).parent
SERVER, LIGHT, OLDER = (str(HERE / f"{name}.py") for name in ("server", "light", "older"))


def stdio(*arguments: str, file: str = LIGHT, name: str = "probe", **more: Any) -> McpServer:
    """Configure a server that is a command: the light one, unless the SDK's is the fact."""
    return McpServer(name, sys.executable, (file, *(arguments or ("stdio",))), **more)


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
            wait_until(lambda: accepts(port), "the MCP server listens")
            yield f"http://{LOOPBACK}:{port}/mcp"
        finally:
            end(process)


def declared(tool: str, server: str = "probe", **more: Any) -> ToolConfig:
    parameters = more.pop("parameters", {})
    return ToolConfig(
        tool, more.pop("description", ""), parameters, source=Mcp(server, tool), **more
    )


async def call(
    connections: McpConnections, tool: str, arguments: Any = None, ask: AskQuestion | None = None
) -> Any:
    return await connections.make_tool(declared(tool)).execute(arguments or {}, {}, ask or nobody)


async def nobody(question: Question) -> Answer | Declined:
    raise AssertionError(f"nobody expected {question}")


class Person:
    """Gives the answers in their order and remembers what was asked."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.asked: list[Question] = []

    async def __call__(self, question: Question) -> Answer | Declined:
        self.asked.append(question)
        answer = self._answers.pop(0)
        if isinstance(answer, CancellationReason):
            return Declined(answer)
        return Answer(answer)

"""Talks to MCP servers and a model with canaries, under jpweb's logging: ``talkative.py URL URL``.

The first address is an MCP server's, the second an OpenAI stand-in's.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import django

from jpweb.agent.config import McpServer, McpSource, ModelConfig, ProviderConfig, ToolConfig
from jpweb.agent.errors import ProviderFailed
from jpweb.agent.ports import Answer, ProviderRequest
from jpweb.agent.provider_info import SERVED_PROVIDERS
from jpweb.agent.providers import PROVIDERS
from jpweb.agent.tool_outcome import Question
from jpweb.agent.tools.mcp import connect_servers
from jpweb.stream.events import ChatRequest, ConversationEvent
from jpweb.stream.thread import ThreadParts

CANARY = "canary-5e1f"
OLDER = Path(__file__).parent / "agent/tools/mcp/servers/older.py"
FORM = {
    "message": "Key?",
    "requestedSchema": {
        "type": "object",
        "properties": {"word": {"type": "string", "format": "password"}},
    },
}


async def answer(question: Question) -> Answer:
    return Answer(CANARY)


async def ask(name: str, base_url: str) -> None:
    """Let a model fail, or reply."""
    provider = ProviderConfig(base_url)
    request_event = ConversationEvent("2026-01-01T00:00:00Z", ChatRequest(CANARY))
    request = ProviderRequest(ThreadParts((CANARY,), (request_event,)), ())
    model = ModelConfig(name, "vendor/model")
    stream: Any = PROVIDERS[name](model, provider, CANARY).stream(request)
    async with aclosing(stream):
        try:
            print(name, len([event async for event in stream]))
        except ProviderFailed as error:
            print(name, error.kind)


async def conversation(mcp: str, vendor: str) -> None:
    folder = Path.cwd()
    servers = [
        McpServer("chatty", sys.executable, (str(OLDER), str(folder))),
        McpServer("web", url=f"{mcp}?key={CANARY}", headers={"X-Key": CANARY}),
    ]
    async with connect_servers(servers, folder) as connections:
        print(dict(connections.unavailable))
        for server, tool, arguments in (
            ("chatty", "chat", {"forms": [FORM]}),
            ("chatty", "babble", {"forms": [FORM]}),
            ("web", "fail", {"why": CANARY}),
            ("web", "settings", {"name": CANARY}),
        ):
            config = ToolConfig(tool, "", {}, source=McpSource(server, tool))
            outcome = await connections.make_tool(config).execute(arguments, {}, answer)
            print(tool, type(outcome).__name__)
    for name in SERVED_PROVIDERS:
        await ask(name, vendor)


if __name__ == "__main__":
    django.setup()
    logging.getLogger("jpweb").debug("this is logged")
    asyncio.run(conversation(*sys.argv[1:]))

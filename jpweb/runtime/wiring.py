"""From settings and a workspace's configuration to what a turn needs."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils.crypto import salted_hmac

from jpweb.agent.calls.arguments import prepared
from jpweb.agent.calls.inquire import LlmInquiryBackend
from jpweb.agent.config import (
    UNSET_MODEL,
    Builtin,
    Local,
    Mcp,
    ModelConfig,
    ProviderConfig,
    trust,
)
from jpweb.agent.errors import BadConfiguration, FailureKind, ProviderFailed, ToolUnavailable
from jpweb.agent.outcome import Failed
from jpweb.agent.providers import DEFAULTS, PROVIDERS, key_variables
from jpweb.agent.providers.scripted import Scripted
from jpweb.agent.setup import Setup
from jpweb.agent.tools import BUILTINS
from jpweb.agent.tools.demo_vault import DemoVault
from jpweb.agent.tools.describe_tools import DescribeTools
from jpweb.agent.tools.local import LocalTool, Place, environment, shown, sweep
from jpweb.agent.tools.mcp import connected
from jpweb.runtime import configuration
from jpweb.runtime.crossing import in_store
from jpweb.store.errors import BadFile

if TYPE_CHECKING:
    from jpweb.agent.config import McpServer, ToolConfig
    from jpweb.agent.ports import InquiryBackend, OutsideTool, Provider
    from jpweb.agent.tools.mcp import Connections
    from jpweb.runtime.configuration import Current
    from jpweb.store.models import Conversation, Workspace


@dataclass(frozen=True, slots=True)
class Equipment:
    """What one turn works with."""

    setup: Setup
    provider: Provider
    backend: InquiryBackend


@asynccontextmanager
async def equipped(conversation: Conversation) -> AsyncIterator[Equipment]:
    """Open what a turn of the conversation needs, for as long as the block lasts.

    Raises BadConfiguration and ProviderFailed.
    """
    workspace = await in_store(_workspace, conversation)
    now = await in_store(configuration.current, workspace)
    chosen = _model(now)
    keys = key_variables(now.configuration.providers.values())
    place = Place(
        Path(workspace.root), workspace.jp_id, f"jp-c{conversation.jp_id}", environment(keys)
    )
    async with connected(_servers(now), place.root) as connections:
        setup = _setup(now, chosen, place, connections)
        provider = open_model(now, chosen)
        backend = LlmInquiryBackend(
            lambda model: open_model(now, model),
            chosen,
            setup.system,
            setup.tools,
            now.configuration.inquiry,
        )
        yield Equipment(setup, provider, backend)


@dataclass(frozen=True, slots=True)
class Player:
    """Who plays the turns of a workspace, as people write it, or why none may begin."""

    model: ModelConfig = UNSET_MODEL
    problem: str = ""

    @property
    def name(self) -> str:
        return "/".join(filter(None, (self.model.provider, self.model.name)))

    @property
    def is_script(self) -> bool:
        return self.model.provider == Scripted.NAME


def player(workspace: Workspace) -> Player:
    """Return who would play a turn that begins now."""
    now = configuration.current(workspace)
    try:
        chosen = _model(now)
    except BadConfiguration as error:
        return Player(problem=str(error))
    return Player(chosen, now.provider_problem(chosen.provider))


def model(conversation: Conversation) -> ModelConfig:
    """Return the model that plays a turn of a conversation. Raises BadFile where none may."""
    found = player(conversation.workspace)
    if found.problem:
        raise BadFile(found.problem)
    return found.model


def open_model(now: Current, chosen: ModelConfig) -> Provider:
    """Return the provider of a model. Raises ProviderFailed."""
    if chosen.provider == Scripted.NAME:
        return Scripted(pace=settings.SCRIPT_PACE)
    make = PROVIDERS.get(chosen.provider)
    if make is None:
        known = ", ".join(providers())
        problem = f"Unknown provider “{chosen.provider}”. Use one of: {known}."
        raise ProviderFailed(problem, FailureKind.BAD_REQUEST)
    problem = now.provider_problem(chosen.provider)
    if problem:
        raise ProviderFailed(problem, FailureKind.WRONG_KEY)
    told = now.configuration.providers.get(chosen.provider, ProviderConfig())
    variable = told.api_key_env or DEFAULTS[chosen.provider].api_key_env
    return make(chosen, told, os.environ.get(variable) if variable else None)


def providers() -> list[str]:
    """Return the names that a provider can be chosen by."""
    return sorted(PROVIDERS)


def default_model() -> ModelConfig:
    """Return the installation's model, for workspaces that configure none."""
    return ModelConfig(settings.PROVIDER, settings.MODEL)


def tidy() -> None:
    """Remove what tool calls of a server that was killed have left on this machine."""
    sweep()


def _workspace(conversation: Conversation) -> Workspace:
    return conversation.workspace


def _model(now: Current) -> ModelConfig:
    if now.problem:
        raise BadConfiguration(now.problem)
    configured = now.configuration.assistant.model
    return default_model() if configured == UNSET_MODEL else configured


async def _formatted(tool: ToolConfig, place: Place, arguments: Mapping[str, Any]) -> str | None:
    """Return what the tool's formatter makes of the arguments as the tool will get them."""
    wanted = prepared(tool, arguments)
    return None if isinstance(wanted, Failed) else await shown(tool, place, wanted)


def _servers(now: Current) -> list[McpServer]:
    """Return the trusted servers that an offered tool needs."""
    sources = (tool.source for tool in now.tools)
    names = {source.server for source in sources if isinstance(source, Mcp)}
    return [now.configuration.servers[name] for name in sorted(names)]


def _setup(now: Current, chosen: ModelConfig, place: Place, connections: Connections) -> Setup:
    offered: list[ToolConfig] = []
    outside: dict[str, OutsideTool] = {}
    unavailable = dict(now.unavailable)
    for tool in now.tools:
        match tool.source:
            case Builtin() if tool.name == DemoVault.NAME and chosen.provider != Scripted.NAME:
                unavailable[tool.name] = "It is a part of the script's demonstration."
            case Builtin():
                offered.append(tool)
            case Local():
                offered.append(tool)
                outside[tool.name] = LocalTool(tool, place)
            case Mcp():
                try:
                    offered.append(connections.tool_config(tool))
                    outside[tool.name] = connections.tool(tool)
                except ToolUnavailable as error:
                    unavailable[tool.name] = str(error)
    assistant = now.configuration.assistant
    return Setup(
        system=assistant.system,
        tools=tuple(offered),
        builtins=(*BUILTINS, DescribeTools(offered)),
        outside=outside,
        formatters={
            tool.name: partial(_formatted, tool, place) for tool in offered if tool.formats_first
        },
        unavailable=unavailable,
        tool_choice=assistant.tool_choice,
        request=assistant.request,
        definitions={
            tool.name: _definition(now, tool)
            for tool in offered
            if not isinstance(tool.source, Builtin)  # jpweb's own code; no file defines it
        },
    )


def _definition(now: Current, tool: ToolConfig) -> str:
    """Return the keyed hash of a tool's definition: it is recorded, and the text may hold keys."""
    source = tool.source
    server = now.configuration.servers.get(source.server) if isinstance(source, Mcp) else None
    return salted_hmac("jpweb.tool", trust.definition(tool, server), algorithm="sha256").hexdigest()

"""Composition root: builds the parts of a turn from settings and a workspace's configuration."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils.crypto import salted_hmac

from jpweb.agent.config import (
    UNSET_MODEL,
    BuiltinSource,
    LocalSource,
    McpSource,
    ModelConfig,
    ProviderConfig,
    trust,
)
from jpweb.agent.config.system_prompt import add_tool_usage
from jpweb.agent.errors import FailureKind, InvalidConfiguration, ProviderFailed, ToolUnavailable
from jpweb.agent.provider_info import PROVIDER_INFO, SELECTABLE_PROVIDERS
from jpweb.agent.providers import PROVIDERS, collect_key_variables
from jpweb.agent.providers.scripted import ScriptedProvider
from jpweb.agent.tool_calls.arguments import prepare_arguments
from jpweb.agent.tool_calls.inquiry_backend import LlmInquiryBackend
from jpweb.agent.tool_outcome import Failed
from jpweb.agent.tools import BUILTINS
from jpweb.agent.tools.demo_vault import DemoVault
from jpweb.agent.tools.describe_tools import DescribeTools
from jpweb.agent.tools.local import (
    LocalTool,
    ToolContext,
    format_arguments,
    make_environment,
    sweep_private_files,
)
from jpweb.agent.tools.mcp import connect_servers
from jpweb.agent.turn_setup import TurnSetup
from jpweb.runtime import configuration
from jpweb.runtime.conversation_config import load_conversation_config
from jpweb.runtime.db_threads import run_in_background_thread, run_in_db_thread
from jpweb.store.choices import TrustKind
from jpweb.store.errors import InvalidConfigFile
from jpweb.store.jp_files import silo, silo_bindings
from jpweb.store.workspace_config.trust import list_shown

if TYPE_CHECKING:
    from jpweb.agent.config import McpServer, ToolConfig
    from jpweb.agent.ports import InquiryBackend, OutsideTool, Provider
    from jpweb.agent.tools.mcp import McpConnections
    from jpweb.runtime.configuration import WorkspaceConfig
    from jpweb.store.models import Conversation, Workspace

#: Variables without which few programs run: no workspace's key takes them from other workspaces.
_PROGRAM_VARIABLES = frozenset(
    {"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"}
)


@dataclass(frozen=True, slots=True)
class TurnResources:
    """The setup, provider and inquiry backend of one turn."""

    setup: TurnSetup
    provider: Provider
    backend: InquiryBackend


@asynccontextmanager
async def open_turn_resources(conversation: Conversation) -> AsyncIterator[TurnResources]:
    """Open the resources of a turn of the conversation while the block runs.

    Raises InvalidConfiguration and ProviderFailed.
    """
    workspace = await run_in_db_thread(_get_workspace, conversation)
    # Not in the shared thread, on which all answers over WebSockets run.
    workspace_config = await run_in_background_thread(load_conversation_config, conversation)
    model_config = _choose_model(workspace_config)
    hidden_names = await run_in_db_thread(_list_hidden_variables, workspace_config)
    place = ToolContext(
        Path(workspace.root),
        workspace.jp_id,
        f"jp-c{conversation.jp_id}",
        make_environment(hidden_names),
        await run_in_db_thread(_read_approved_targets, workspace),
    )
    servers = _list_needed_servers(workspace_config)
    async with connect_servers(servers, place.root) as connections:
        _require_servers(servers, connections)
        setup = replace(
            _build_setup(workspace_config, model_config, place, connections),
            cache_key=_make_cache_key(conversation),
        )
        provider = open_model(workspace_config, model_config)
        backend = LlmInquiryBackend(
            lambda model: open_model(workspace_config, model),
            model_config,
            setup.system,
            setup.tools,
            workspace_config.configuration.inquiry,
            cache=setup.request.cache,
            cache_key=setup.cache_key,
        )
        yield TurnResources(setup, provider, backend)


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """The model of a workspace's turns, or the problem for which none may start."""

    model: ModelConfig = UNSET_MODEL
    problem: str = ""

    @property
    def name(self) -> str:
        return "/".join(filter(None, (self.model.provider, self.model.name)))

    @property
    def is_script(self) -> bool:
        return self.model.provider == ScriptedProvider.NAME


def get_model_status(workspace: Workspace) -> ModelStatus:
    """Return the model of a new conversation's turn, or the problem."""
    return _find_model_status(configuration.load_workspace_config(workspace))


def get_conversation_model(conversation: Conversation) -> ModelStatus:
    """Return the model that the conversation's next turn would use now, or the problem."""
    return _find_model_status(load_conversation_config(conversation))


def _find_model_status(workspace_config: WorkspaceConfig) -> ModelStatus:
    """Return the model, or why a turn would fail at once, such as for a key that is not set.

    The keys of workers are in their environments, not in that of a server that runs no turns.
    """
    try:
        model_config = _choose_model(workspace_config)
        if settings.RUN_MODE == "embedded":
            open_model(workspace_config, model_config)
    except (InvalidConfiguration, ProviderFailed) as error:
        return ModelStatus(problem=str(error))
    return ModelStatus(model_config, workspace_config.find_provider_problem(model_config.provider))


def get_turn_model(conversation: Conversation) -> ModelConfig:
    """Return the model for a conversation's turn. Raises InvalidConfigFile where none may run."""
    status = get_conversation_model(conversation)
    if status.problem:
        raise InvalidConfigFile(status.problem)
    return status.model


def open_model(workspace_config: WorkspaceConfig, model_config: ModelConfig) -> Provider:
    """Return a provider for a model. Raises ProviderFailed."""
    if model_config.provider == ScriptedProvider.NAME:
        return ScriptedProvider(pace=settings.SCRIPT_PACE_SECONDS)
    make_provider = PROVIDERS.get(model_config.provider)
    if make_provider is None:
        names = ", ".join(SELECTABLE_PROVIDERS)
        problem = f"Unknown provider “{model_config.provider}”. Use one of: {names}."
        raise ProviderFailed(problem, FailureKind.BAD_REQUEST)
    problem = workspace_config.find_provider_problem(model_config.provider)
    if problem:
        raise ProviderFailed(problem, FailureKind.WRONG_KEY)
    provider_config = workspace_config.configuration.providers.get(
        model_config.provider, ProviderConfig()
    )
    key_variable = provider_config.api_key_env or PROVIDER_INFO[model_config.provider].api_key_env
    return make_provider(
        model_config, provider_config, os.environ.get(key_variable) if key_variable else None
    )


def get_default_model() -> ModelConfig:
    """Return the installation's model, for workspaces that configure none."""
    return ModelConfig(settings.PROVIDER, settings.MODEL)


def remove_leftovers() -> None:
    """Remove files that tool calls of a killed server left on this machine."""
    sweep_private_files()


def _get_workspace(conversation: Conversation) -> Workspace:
    return conversation.workspace


def _list_hidden_variables(workspace_config: WorkspaceConfig) -> frozenset[str]:
    """Return the variables that tools do not get: those of keys, also of other workspaces.

    Of other workspaces those count that an owner trusted. Else a file of any workspace could hide
    a variable from the tools of all.
    """
    trusted_names = {
        name
        for text in list_shown(TrustKind.PROVIDER)
        for name in trust.extract_key_variables(text)
    }
    own_names = collect_key_variables(workspace_config.configuration.providers.values())
    return own_names | (trusted_names - _PROGRAM_VARIABLES)


def _read_approved_targets(workspace: Workspace) -> dict[str, str]:
    return silo.read_approved_targets(silo_bindings.find_bound_silo(workspace))


def _choose_model(workspace_config: WorkspaceConfig) -> ModelConfig:
    if workspace_config.problem:
        raise InvalidConfiguration(workspace_config.problem)
    return workspace_config.configuration.assistant.model.merge_over(get_default_model())


async def _format_arguments(
    tool: ToolConfig, place: ToolContext, arguments: Mapping[str, Any]
) -> str | None:
    """Return the formatter's output for the arguments as the tool will receive them."""
    checked_arguments = prepare_arguments(tool, arguments)
    return (
        None
        if isinstance(checked_arguments, Failed)
        else await format_arguments(tool, place, checked_arguments)
    )


def _list_needed_servers(workspace_config: WorkspaceConfig) -> list[McpServer]:
    """Return the trusted MCP servers that an offered tool needs."""
    sources = (tool.source for tool in workspace_config.tools)
    names = {source.server for source in sources if isinstance(source, McpSource)}
    return [workspace_config.configuration.servers[name] for name in sorted(names)]


def _require_servers(servers: list[McpServer], connections: McpConnections) -> None:
    """Raise InvalidConfiguration where a server did not start that is not optional."""
    for server in servers:
        if server.name in connections.unavailable and not server.optional:
            raise InvalidConfiguration(
                f"The MCP server {server.name} is required and is not available: "
                f"{connections.unavailable[server.name]}. Start it, or set "
                f"providers.mcp.{server.name}.optional = true to go on without its tools."
            )


def _make_cache_key(conversation: Conversation) -> str:
    """Return the name by which OpenAI knows requests that share a prompt.

    It is JP's (docs/jp-format.md, Prompt cache).
    """
    created_at_microseconds = conversation.jp_id * 100_000
    return f"jp:conversation:{created_at_microseconds}"


def _build_setup(
    workspace_config: WorkspaceConfig,
    model_config: ModelConfig,
    place: ToolContext,
    connections: McpConnections,
) -> TurnSetup:
    offered_tools: list[ToolConfig] = []
    outside_tools: dict[str, OutsideTool] = {}
    problems_by_tool = dict(workspace_config.unavailable)
    for tool in workspace_config.tools:
        match tool.source:
            case BuiltinSource() if (
                tool.name == DemoVault.NAME and model_config.provider != ScriptedProvider.NAME
            ):
                problems_by_tool[tool.name] = "It is a part of the script's demonstration."
            case BuiltinSource():
                offered_tools.append(tool)
            case LocalSource():
                offered_tools.append(tool)
                outside_tools[tool.name] = LocalTool(tool, place)
            case McpSource():
                try:
                    offered_tools.append(connections.make_tool_config(tool))
                    outside_tools[tool.name] = connections.make_tool(tool)
                except ToolUnavailable as error:
                    problems_by_tool[tool.name] = str(error)
    assistant = workspace_config.configuration.assistant
    return TurnSetup(
        system=add_tool_usage(assistant.system) if offered_tools else assistant.system,
        tools=tuple(offered_tools),
        builtins=(*BUILTINS, DescribeTools(offered_tools)),
        outside=outside_tools,
        formatters={
            tool.name: partial(_format_arguments, tool, place)
            for tool in offered_tools
            if tool.can_format_first
        },
        unavailable=problems_by_tool,
        tool_choice=assistant.tool_choice,
        request=assistant.request,
        definitions={
            tool.name: _hash_definition(workspace_config, tool)
            for tool in offered_tools
            if not isinstance(tool.source, BuiltinSource)  # defined by jpweb's code, not by a file
        },
    )


def _hash_definition(workspace_config: WorkspaceConfig, tool: ToolConfig) -> str:
    """Return the keyed hash of a tool's definition, which may hold keys and is recorded."""
    source = tool.source
    server = (
        workspace_config.configuration.servers.get(source.server)
        if isinstance(source, McpSource)
        else None
    )
    return salted_hmac(
        "jpweb.tool", trust.make_definition(tool, server), algorithm="sha256"
    ).hexdigest()

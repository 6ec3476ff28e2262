"""Configurations of a workspace: its files, the overrides, and what an owner trusts."""

from __future__ import annotations

from pathlib import Path

from jpweb.runtime import configuration
from jpweb.runtime.configuration import ToolAvailability, WorkspaceConfig
from jpweb.store.models import Person, Workspace
from jpweb.store.workspace_config import overrides

LOCAL = """
[conversation.tools.t]
source = "local"
command = "run {{context}}"
"""
SERVED = """
[conversation.tools.m]
source = "mcp.s"
[providers.mcp.s]
command = "serve"
"""


def write_config(workspace: Workspace, text: str) -> None:
    (Path(workspace.root) / ".jp" / "config.toml").write_text(text)


def trust_all(workspace: Workspace, person: Person) -> None:
    trust_keys = [
        (thing.item.kind.value, thing.item.name, thing.item.fingerprint)
        for thing in configuration.load_workspace_config(workspace).trust_statuses
    ]
    configuration.grant_trust(workspace, trust_keys, person)


def save_overrides(workspace: Workspace, text: str) -> None:
    configuration.save_overrides(workspace, text, overrides.hash_text(workspace.overrides))


def get_availability(config: WorkspaceConfig, name: str) -> ToolAvailability:
    return next(offer.availability for offer in config.offers if offer.tool.name == name)


def list_tool_names(config: WorkspaceConfig) -> set[str]:
    return {tool.name for tool in config.tools}

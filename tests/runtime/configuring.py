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


def write(home: Workspace, text: str) -> None:
    (Path(home.root) / ".jp" / "config.toml").write_text(text)


def trust_all(home: Workspace, person: Person) -> None:
    seen = [
        (thing.item.kind.value, thing.item.name, thing.item.fingerprint)
        for thing in configuration.load_workspace_config(home).trust_statuses
    ]
    configuration.grant_trust(home, seen, person)


def save(home: Workspace, text: str) -> None:
    configuration.save_overrides(home, text, overrides.hash_text(home.overrides))


def why(now: WorkspaceConfig, name: str) -> ToolAvailability:
    return next(offer.availability for offer in now.offers if offer.tool.name == name)


def names(now: WorkspaceConfig) -> set[str]:
    return {tool.name for tool in now.tools}

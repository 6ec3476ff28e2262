"""A workspace's configuration as it counts now: its files, the overrides, and what is trusted.

Synchronous, as the store is. Nothing here raises for what a file says: the configuration is then
the built-in one, and ``problem`` is the one message with which turns are refused.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from jpweb.agent.config import (
    AllowToggle,
    Builtin,
    Configuration,
    Local,
    Mcp,
    ProviderConfig,
    ToolConfig,
    enabling,
    gates,
    spelling,
)
from jpweb.agent.config import trust as trusting
from jpweb.agent.config.layers import Layer
from jpweb.agent.config.reading import read
from jpweb.agent.config.trust import Line, Wanted, WantedKind
from jpweb.agent.errors import BadConfiguration
from jpweb.agent.setup import builtin_configs
from jpweb.store import plain
from jpweb.store.disk import config
from jpweb.store.errors import BadFile, Outdated
from jpweb.store.owners import overrides, trust
from jpweb.store.owners.trust import Seen, Standing

if TYPE_CHECKING:
    from jpweb.store.models import Person, Trust, Workspace


#: Configurations that are remembered.
MAX_CONFIGURATIONS = 16


class Why(StrEnum):
    """Why a tool is not offered; the value is what people and the model are told."""

    OFFERED = ""
    OFF = "it is switched off in the configuration"
    NEW = "an owner of the workspace has not trusted what it runs, or may do, yet"
    CHANGED = "what it runs, or may do, has changed since an owner of the workspace trusted it"
    SERVER_NEW = "an owner of the workspace has not trusted its MCP server yet"
    SERVER_CHANGED = (
        "its MCP server, or what that server's tools may do, has changed since an owner of the "
        "workspace trusted it"
    )
    NO_SERVER = "its MCP server is not configured"
    NO_BUILTIN = "jpweb has no built-in tool of this name"
    BROKEN = "the configuration cannot be used"


@dataclass(frozen=True, slots=True)
class Thing:
    """Something to trust, how it stands, and what it was when it was trusted."""

    wanted: Wanted
    standing: Standing
    given: Trust | None = None

    @property
    def difference(self) -> list[Line]:
        """What has changed; nothing where it stands as it was."""
        if self.given is None or self.standing is not Standing.CHANGED:
            return []
        before, now = self.given.fingerprint, self.wanted.fingerprint
        hidden = trusting.unseen(before) != trusting.unseen(now)
        return trusting.difference(self.given.shown, self._shown, hidden)

    @property
    def gates_changed(self) -> bool:
        """Whether ``difference`` tells of gates."""
        return self.given is not None and (
            trusting.gates_of(self.given.shown) != trusting.gates_of(self._shown)
        )

    @property
    def _shown(self) -> str:
        return plain.text(self.wanted.shown)


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool, and why it is not offered. An argument formatter that is not trusted is left out."""

    tool: ToolConfig
    why: Why

    @property
    def offered(self) -> bool:
        return self.why is Why.OFFERED


@dataclass(frozen=True, slots=True)
class Current:
    """What counts now. ``problem`` says in one line why no turn may begin."""

    configuration: Configuration
    offers: tuple[Offer, ...] = ()
    things: tuple[Thing, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""
    _standings: Mapping[tuple[WantedKind, str], Standing] = field(default_factory=dict)

    @property
    def tools(self) -> tuple[ToolConfig, ...]:
        """The tools that are offered."""
        return tuple(offer.tool for offer in self.offers if offer.offered)

    @property
    def unavailable(self) -> dict[str, str]:
        """Why each of the others is not, by its name."""
        return {offer.tool.name: offer.why.value for offer in self.offers if not offer.offered}

    def standing(self, kind: WantedKind, name: str) -> Standing:
        """Tell how a thing stands; what needs no trust is as good as trusted."""
        return self._standings.get((kind, name), Standing.TRUSTED)

    def server(self, name: str) -> Standing:
        """Tell how an MCP server stands."""
        return self.standing(WantedKind.SERVER, name)

    def provider_problem(self, name: str) -> str:
        """Return why a model of this provider may not be asked; nothing where it may."""
        if self.standing(WantedKind.PROVIDER, name) is Standing.TRUSTED:
            return ""
        return (
            f"The configuration changes the address or API key of “{spelling.visible(name)}”. "
            "An owner of the workspace must trust that first."
        )


def current(workspace: Workspace) -> Current:
    """Return what counts in a workspace now."""
    try:
        configuration, files, notes = _read(workspace, workspace.overrides)
    except (BadFile, BadConfiguration) as error:
        builtin = read((), builtin_configs())
        offers = tuple(Offer(tool, Why.BROKEN) for tool in builtin.tools.values())
        return Current(builtin, offers, problem=plain.text(str(error)))
    wanted = trusting.wanted(configuration, files, builtin_configs())
    given = trust.given(workspace.pk) if wanted else {}
    things = tuple(_thing(one, given) for one in wanted)
    standings = {(thing.wanted.kind, thing.wanted.name): thing.standing for thing in things}
    return Current(
        configuration=configuration,
        offers=tuple(_offer(t, configuration, standings) for t in configuration.tools.values()),
        things=things,
        notes=notes,
        _standings=standings,
    )


def save_overrides(workspace: Workspace, typed: str, seen: str) -> None:
    """Keep what an owner typed, once all layers can be read with it.

    ``seen`` is the digest of the overrides that they began with. Raises StoreError with the
    message for people; then nothing is kept.
    """
    text = overrides.tidy(typed)
    _check(workspace, text)
    overrides.keep(workspace, text, seen)


def switch_tool(workspace: Workspace, name: str, on: bool) -> None:
    """Switch a tool on or off in the overrides, where that is allowed. Raises StoreError."""
    _switch(workspace, {name: on}, None)


def switch_all(workspace: Workspace, on: bool) -> list[str]:
    """Switch every tool that may be switched with all others. Raises StoreError.

    Returns those that stay as they are, being switched by name alone, or locked.
    """
    return _switch(workspace, {}, on)


def _switch(workspace: Workspace, named: Mapping[str, bool], every: bool | None) -> list[str]:
    try:
        configuration, _, _ = _read(workspace, workspace.overrides)
        after = enabling.toggled(configuration.tools, named, every)
    except BadConfiguration as error:
        raise BadFile(str(error)) from error
    before = configuration.tools
    changed = {n: t.enable.state for n, t in after.items() if t.enable != before[n].enable}
    text = overrides.switched(workspace.overrides, changed | dict(named))
    _check(workspace, text)
    overrides.keep(workspace, text, overrides.digest(workspace.overrides))
    return [name for name, tool in after.items() if every not in (None, tool.enable.state)]


def give(workspace: Workspace, things: Sequence[tuple[str, str, str]], person: Person) -> None:
    """Trust things (kind, name, fingerprint) as a person saw them. Raises Outdated; then none."""
    now = {(t.wanted.kind.value, t.wanted.name): t.wanted for t in current(workspace).things}
    seen = []
    for kind, name, fingerprint in things:
        wanted = now.get((kind, name))
        if wanted is None or wanted.fingerprint != fingerprint:
            raise Outdated(
                f"“{spelling.visible(name)}” has changed since you opened the page. "
                "Nothing was trusted. Review it again."
            )
        seen.append(Seen(kind, name, fingerprint, plain.text(wanted.shown)))
    trust.give(workspace, seen, person)


def withdraw(workspace: Workspace, things: Sequence[tuple[str, str]]) -> int:
    """Trust things (kind, name) no longer; returns how many were."""
    return trust.withdraw(workspace, things)


@dataclass(frozen=True, slots=True)
class Vendor:
    """A provider as people may see it: never its key, nor what of an address may be one."""

    name: str
    address: str
    variable: str
    key_is_there: bool
    standing: Standing


def vendors(now: Current) -> list[Vendor]:
    """Return the providers that are configured, and that of the chosen model."""
    chosen = now.configuration.assistant.model.provider
    names = dict.fromkeys([*([chosen] if chosen else []), *now.configuration.providers])
    found = []
    for name in names:
        given = now.configuration.providers.get(name, ProviderConfig())
        address, variable = trusting.KNOWN.get(name, ("", ""))
        variable = given.api_key_env or variable
        found.append(
            Vendor(
                name=name,
                address=spelling.masked(given.base_url or address),
                variable=variable,
                key_is_there=bool(os.environ.get(variable)),
                standing=now.standing(WantedKind.PROVIDER, name),
            )
        )
    return found


def visible(text: str) -> str:
    """Return a text with what cannot be seen spelled out."""
    return spelling.visible(text)


def may_switch(tool: ToolConfig) -> bool:
    """Tell whether an owner may switch a tool by its name (RFD 081)."""
    return tool.enable.allow_toggle in enabling.BY_NAME


def switches_with_all(tool: ToolConfig) -> bool:
    """Tell whether a tool is among those that are switched all at once (RFD 081)."""
    return tool.enable.allow_toggle is AllowToggle.ANY


def source_words(tool: ToolConfig) -> str:
    """Return where a tool comes from, as JP writes it."""
    match tool.source:
        case Builtin():
            return "builtin"
        case Local(told):
            return "local" if told == tool.name else f"local.{told}"
        case Mcp(server, name):
            return f"mcp.{server}" if name == tool.name else f"mcp.{server}.{name}"


def _read(workspace: Workspace, text: str) -> tuple[Configuration, Configuration, tuple[str, ...]]:
    """Read all layers, and all without what the overrides say of gates; and the notes.

    Raises BadFile or BadConfiguration.
    """
    return _configure(config.read(Path(workspace.root)), text)


@lru_cache(maxsize=MAX_CONFIGURATIONS)
def _configure(
    files: config.Files, text: str
) -> tuple[Configuration, Configuration, tuple[str, ...]]:
    """As ``_read``; once for each content of the files and the overrides."""
    layers = [Layer(name, values) for name, values in files.layers]
    own = Layer(overrides.NAME, overrides.parse(text))
    configuration = read([*layers, own], builtin_configs())
    notes = (*files.notes, *configuration.notes)
    without = gates.ungated(own)
    if without == own:
        return configuration, configuration, notes
    try:
        return configuration, read([*layers, without], builtin_configs()), notes
    except BadConfiguration:  # a file's own word is none, and the overrides put it right
        return configuration, configuration, notes


def _check(workspace: Workspace, text: str) -> None:
    try:
        _read(workspace, text)
    except BadConfiguration as error:
        raise BadFile(str(error)) from error


def _thing(wanted: Wanted, given: Mapping[tuple[str, str], Trust]) -> Thing:
    trusted = given.get((wanted.kind.value, wanted.name))
    return Thing(wanted, trust.standing(trusted, wanted.fingerprint), trusted)


def _offer(
    tool: ToolConfig,
    configuration: Configuration,
    standings: Mapping[tuple[WantedKind, str], Standing],
) -> Offer:
    formatter = standings.get((WantedKind.FORMATTER, tool.name), Standing.TRUSTED)
    if formatter is not Standing.TRUSTED:
        tool = replace(tool, formatter=None)
    if not tool.enable.state:
        return Offer(tool, Why.OFF)
    match tool.source:
        case Builtin():
            known = any(tool.name == builtin.name for builtin in builtin_configs())
            stands = standings.get((WantedKind.TOOL, tool.name), Standing.TRUSTED)
            return Offer(tool, _TOOL[stands] if known else Why.NO_BUILTIN)
        case Local():
            return Offer(tool, _TOOL[standings[WantedKind.TOOL, tool.name]])
        case Mcp(server):
            if server not in configuration.servers:
                return Offer(tool, Why.NO_SERVER)
            return Offer(tool, _SERVER[standings[WantedKind.SERVER, server]])


_TOOL = {Standing.TRUSTED: Why.OFFERED, Standing.NEW: Why.NEW, Standing.CHANGED: Why.CHANGED}
_SERVER = {
    Standing.TRUSTED: Why.OFFERED,
    Standing.NEW: Why.SERVER_NEW,
    Standing.CHANGED: Why.SERVER_CHANGED,
}

"""The effective configuration of a workspace: files, overrides, and the items that owners trust.

Synchronous, as the store is. An invalid file raises nothing here: the built-in configuration
applies, and ``problem`` holds the message with which turns are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jpweb.agent.config import (
    BuiltinSource,
    Configuration,
    LocalSource,
    McpSource,
    ToolConfig,
    approval_policy,
    display,
    toggles,
)
from jpweb.agent.config.approval_policy import ApprovalTexts, SecondModel
from jpweb.agent.config.layers import Layer
from jpweb.agent.config.loader import load_configuration
from jpweb.agent.config.trust import (
    DiffLine,
    TrustItem,
    TrustItemKind,
    cut_hidden_fingerprint,
    diff_texts,
    extract_gates,
    list_trust_items,
)
from jpweb.agent.errors import InvalidConfiguration
from jpweb.agent.turn_setup import list_builtin_configs
from jpweb.store import db_text
from jpweb.store.errors import InvalidConfigFile, StaleVersion
from jpweb.store.jp_files import config, silo_bindings
from jpweb.store.ledger.entries import OPERATOR, Actor
from jpweb.store.workspace_config import overrides, trust
from jpweb.store.workspace_config.stored_config import NOTHING_STORED, StoredConfig
from jpweb.store.workspace_config.trust import ReviewedItem, TrustState

if TYPE_CHECKING:
    from jpweb.store.models import Person, Trust, Workspace


#: Merged configurations in the LRU cache of ``_merge_layers``.
MAX_CONFIGURATIONS = 16


class ToolAvailability(StrEnum):
    """Whether a tool is offered to the model, and why not; people and the model read the value."""

    OFFERED = ""
    OFF = "it is switched off in the configuration"
    NEW = "an owner has not trusted this tool yet"
    CHANGED = "what it runs, or may do, has changed since an owner trusted it"
    SERVER_NEW = "an owner has not trusted its MCP server yet"
    SERVER_CHANGED = (
        "its MCP server, or what its tools may do, has changed since an owner trusted it"
    )
    NO_SERVER = "its MCP server is not configured"
    NO_BUILTIN = "jpweb has no built-in tool of this name"
    BROKEN = "the configuration cannot be used"


@dataclass(frozen=True, slots=True)
class TrustStatus:
    """An item that needs trust, its trust state, and the grant under which it was trusted."""

    item: TrustItem
    trust_state: TrustState
    grant: Trust | None = None

    @property
    def diff_lines(self) -> list[DiffLine]:
        """The changes since the grant as diff lines; empty unless the trust state is CHANGED."""
        if self.grant is None or self.trust_state is not TrustState.CHANGED:
            return []
        granted_print, current_print = self.grant.fingerprint, self.item.fingerprint
        has_hidden_change = cut_hidden_fingerprint(granted_print) != cut_hidden_fingerprint(
            current_print
        )
        return diff_texts(self.grant.shown, self._display_text, has_hidden_change)

    @property
    def has_changed_gates(self) -> bool:
        """Whether ``diff_lines`` contains changes of approval gates."""
        granted_text = self._display_text if self.grant is None else self.grant.shown
        return extract_gates(granted_text) != extract_gates(self._display_text)

    @property
    def _display_text(self) -> str:
        return db_text.clean_text(self.item.display_text)


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """A tool and its availability, without an argument formatter that is not trusted."""

    tool: ToolConfig
    availability: ToolAvailability

    @property
    def is_offered(self) -> bool:
        return self.availability is ToolAvailability.OFFERED


@dataclass(frozen=True, slots=True)
class WorkspaceConfig:
    """The effective configuration. ``problem`` is the one-line reason why turns are refused.

    ``sources`` name the files and variables that it comes from, lowest first.
    """

    configuration: Configuration
    offers: tuple[ToolOffer, ...] = ()
    trust_statuses: tuple[TrustStatus, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""
    sources: tuple[str, ...] = ()
    _trust_states: Mapping[tuple[TrustItemKind, str], TrustState] = field(default_factory=dict)

    @property
    def tools(self) -> tuple[ToolConfig, ...]:
        """The tools that the model is offered."""
        return tuple(offer.tool for offer in self.offers if offer.is_offered)

    @property
    def unavailable(self) -> dict[str, str]:
        """The reason why each other tool is not offered, by tool name."""
        return {
            offer.tool.name: offer.availability.value
            for offer in self.offers
            if not offer.is_offered
        }

    def get_trust_state(self, kind: TrustItemKind, name: str) -> TrustState:
        """Return the trust state of an item; an item that needs no trust is TRUSTED."""
        return self._trust_states.get((kind, name), TrustState.TRUSTED)

    def get_server_trust_state(self, name: str) -> TrustState:
        """Return the trust state of an MCP server."""
        return self.get_trust_state(TrustItemKind.SERVER, name)

    def find_provider_problem(self, name: str) -> str:
        """Return why models of a provider are refused, or an empty text."""
        if self.get_trust_state(TrustItemKind.PROVIDER, name) is TrustState.TRUSTED:
            return ""
        return (
            "The configuration changes the address or API key of "
            f"“{display.escape_invisible(name)}”. "
            "An owner of the workspace must trust that first."
        )


def load_workspace_config(
    workspace: Workspace,
    stored_config: StoredConfig = NOTHING_STORED,
    conversation_id: int | None = None,
) -> WorkspaceConfig:
    """Load the effective configuration of a workspace, or of a conversation that stores its own.

    What a conversation stores replaces the files' values, and the overrides replace both. Trust
    given in the conversation alone counts beside the workspace's.
    """
    try:
        merged_values = _read_layers(workspace, workspace.overrides, stored_config)
    except (InvalidConfigFile, InvalidConfiguration) as error:
        builtin = load_configuration((), list_builtin_configs())
        offers = tuple(ToolOffer(tool, ToolAvailability.BROKEN) for tool in builtin.tools.values())
        return WorkspaceConfig(builtin, offers, problem=db_text.clean_text(str(error)))
    configuration = merged_values.configuration
    items = list_trust_items(configuration, merged_values.ungated_config, list_builtin_configs())
    grants = trust.list_trusted(workspace.pk) if items else {}
    is_own = items and conversation_id is not None
    own_grants = trust.list_trusted(workspace.pk, conversation_id) if is_own else {}
    statuses = tuple(_make_trust_status(item, grants, own_grants) for item in items)
    trust_states = {(status.item.kind, status.item.name): status.trust_state for status in statuses}
    return WorkspaceConfig(
        configuration=configuration,
        offers=tuple(
            _make_tool_offer(t, configuration, trust_states) for t in configuration.tools.values()
        ),
        trust_statuses=statuses,
        notes=merged_values.notes,
        sources=merged_values.sources,
        _trust_states=trust_states,
    )


def save_overrides(
    workspace: Workspace, submitted_text: str, base_digest: str, actor: Actor = OPERATOR
) -> None:
    """Save an owner's overrides once all layers load with them.

    ``base_digest`` is the digest of the overrides that the owner edited. Raises StoreError with the
    message for people; then nothing is saved.
    """
    text = overrides.normalize_text(submitted_text)
    _check_overrides(workspace, text)
    overrides.save_overrides(workspace, text, base_digest, actor)


def switch_tool(workspace: Workspace, name: str, is_on: bool, actor: Actor = OPERATOR) -> None:
    """Enable or disable a tool in the overrides. Raises StoreError where that is not allowed."""
    _switch_tools(workspace, {name: is_on}, None, actor)


def switch_all_tools(workspace: Workspace, is_on: bool, actor: Actor = OPERATOR) -> list[str]:
    """Switch every tool whose toggle allows it (RFD 081). Raises StoreError.

    Returns the names of the tools that keep their state: switched by name alone, or locked.
    """
    return _switch_tools(workspace, {}, is_on, actor)


def _switch_tools(
    workspace: Workspace,
    states_by_name: Mapping[str, bool],
    common_state: bool | None,
    actor: Actor,
) -> list[str]:
    try:
        configuration = _read_layers(workspace, workspace.overrides).configuration
        toggled_tools = toggles.toggle_tools(configuration.tools, states_by_name, common_state)
    except InvalidConfiguration as error:
        raise InvalidConfigFile(str(error)) from error
    current_tools = configuration.tools
    changed_states = {
        n: t.enable.state for n, t in toggled_tools.items() if t.enable != current_tools[n].enable
    }
    text = overrides.toggle_tools(workspace.overrides, changed_states | dict(states_by_name))
    _check_overrides(workspace, text)
    overrides.save_overrides(workspace, text, overrides.hash_text(workspace.overrides), actor)
    return [n for n, t in toggled_tools.items() if common_state not in (None, t.enable.state)]


def grant_trust(
    workspace: Workspace, requests: Sequence[tuple[str, str, str]], person: Person
) -> None:
    """Trust items (kind, name, fingerprint) as a person saw them.

    Raises StaleVersion, and trusts none, where a fingerprint has changed.
    """
    reviewed_items = list_reviewed(load_workspace_config(workspace), requests)
    trust.grant_trust(workspace, reviewed_items, person)


def list_reviewed(
    workspace_config: WorkspaceConfig, requests: Sequence[tuple[str, str, str]]
) -> list[ReviewedItem]:
    """Return the items (kind, name, fingerprint). Raises StaleVersion where one has changed."""
    items_by_key = {
        (status.item.kind.value, status.item.name): status.item
        for status in workspace_config.trust_statuses
    }
    grants = []
    for kind, name, fingerprint in requests:
        item = items_by_key.get((kind, name))
        if item is None or item.fingerprint != fingerprint:
            raise StaleVersion(
                f"“{display.escape_invisible(name)}” has changed since you opened the page. "
                "Nothing was trusted. Review it again."
            )
        grants.append(ReviewedItem(kind, name, fingerprint, db_text.clean_text(item.display_text)))
    return grants


def withdraw_trust(
    workspace: Workspace, keys: Sequence[tuple[str, str]], actor: Actor = OPERATOR
) -> int:
    """Withdraw trust in items (kind, name); return how many were trusted."""
    return trust.withdraw_trust(workspace, keys, actor)


def escape_invisible(text: str) -> str:
    """Return a text with invisible characters spelled out."""
    return display.escape_invisible(text)


def can_switch_tool(tool: ToolConfig) -> bool:
    """Return whether an owner may switch a tool by its name (RFD 081)."""
    return tool.enable.allow_toggle in toggles.NAMED_TOGGLES


def describe_approval(tool: ToolConfig, loaded_config: Configuration) -> ApprovalTexts:
    """Return in words how a tool's calls, results and questions are approved."""
    return approval_policy.describe_approval(tool, SecondModel.from_configuration(loaded_config))


def format_tool_source(tool: ToolConfig) -> str:
    """Return a tool's source in JP's notation."""
    match tool.source:
        case BuiltinSource():
            return "builtin"
        case LocalSource(local_name):
            return "local" if local_name == tool.name else f"local.{local_name}"
        case McpSource(server, name):
            return f"mcp.{server}" if name == tool.name else f"mcp.{server}.{name}"


class _MergedLayers(NamedTuple):
    """A configuration, the same without the overrides of gates, and where both come from."""

    configuration: Configuration
    ungated_config: Configuration
    notes: tuple[str, ...]
    sources: tuple[str, ...]


def _read_layers(
    workspace: Workspace, text: str, stored_config: StoredConfig = NOTHING_STORED
) -> _MergedLayers:
    """Load all layers. Raises InvalidConfigFile or InvalidConfiguration."""
    files = config.read_config(Path(workspace.root), silo_bindings.find_bound_silo(workspace))
    return _merge_layers(files, text, stored_config)


@lru_cache(maxsize=MAX_CONFIGURATIONS)
def _merge_layers(
    files: config.ConfigFiles, text: str, stored_config: StoredConfig
) -> _MergedLayers:
    """Merge the layers; cached by the files, the stored configuration and the overrides."""
    layers = [Layer(name, values) for name, values in (*files.layers, *stored_config.layers)]
    override_layer = Layer(overrides.OVERRIDES_NAME, overrides.parse_overrides(text))
    configuration = load_configuration([*layers, override_layer], list_builtin_configs())
    # What a conversation stores is JP's whole configuration: most of its keys are not for jpweb.
    notes = files.notes if stored_config.layers else (*files.notes, *configuration.notes)
    sources = tuple(name for name, _ in files.layers)
    ungated_config = configuration
    ungated_layer = approval_policy.remove_gates(override_layer)
    if ungated_layer != override_layer:
        # Where a file's gate is invalid, an override corrects it.
        with suppress(InvalidConfiguration):
            ungated_config = load_configuration([*layers, ungated_layer], list_builtin_configs())
    return _MergedLayers(configuration, ungated_config, notes, sources)


def _check_overrides(workspace: Workspace, text: str) -> None:
    try:
        _read_layers(workspace, text)
    except InvalidConfiguration as error:
        raise InvalidConfigFile(str(error)) from error


def _make_trust_status(
    item: TrustItem,
    grants: Mapping[tuple[str, str], Trust],
    own_grants: Mapping[tuple[str, str], Trust],
) -> TrustStatus:
    """Return the trust state of an item: by the conversation's own grant, or by the workspace's."""
    key = (item.kind.value, item.name)
    grant, own_grant = grants.get(key), own_grants.get(key)
    if own_grant is not None and (grant is None or grant.fingerprint != item.fingerprint):
        grant = own_grant
    return TrustStatus(item, trust.get_trust_state(grant, item.fingerprint), grant)


def _make_tool_offer(
    tool: ToolConfig,
    configuration: Configuration,
    trust_states: Mapping[tuple[TrustItemKind, str], TrustState],
) -> ToolOffer:
    formatter = trust_states.get((TrustItemKind.FORMATTER, tool.name), TrustState.TRUSTED)
    if formatter is not TrustState.TRUSTED:
        tool = replace(tool, formatter=None)
    if not tool.enable.state:
        return ToolOffer(tool, ToolAvailability.OFF)
    match tool.source:
        case BuiltinSource():
            is_known = any(tool.name == builtin.name for builtin in list_builtin_configs())
            trust_state = trust_states.get((TrustItemKind.TOOL, tool.name), TrustState.TRUSTED)
            return ToolOffer(
                tool, _TOOL_AVAILABILITY[trust_state] if is_known else ToolAvailability.NO_BUILTIN
            )
        case LocalSource():
            return ToolOffer(tool, _TOOL_AVAILABILITY[trust_states[TrustItemKind.TOOL, tool.name]])
        case McpSource(server):
            if server not in configuration.servers:
                return ToolOffer(tool, ToolAvailability.NO_SERVER)
            return ToolOffer(tool, _SERVER_AVAILABILITY[trust_states[TrustItemKind.SERVER, server]])


_TOOL_AVAILABILITY = {
    TrustState.TRUSTED: ToolAvailability.OFFERED,
    TrustState.NEW: ToolAvailability.NEW,
    TrustState.CHANGED: ToolAvailability.CHANGED,
}
_SERVER_AVAILABILITY = {
    TrustState.TRUSTED: ToolAvailability.OFFERED,
    TrustState.NEW: ToolAvailability.SERVER_NEW,
    TrustState.CHANGED: ToolAvailability.SERVER_CHANGED,
}

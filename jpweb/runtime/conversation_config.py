"""The configuration that a conversation runs under: its own, over the workspace's files.

As in JP, what a conversation has stored replaces what the files say since. What it would run or
send a key to goes through the workspace's trust: only what an owner trusted there runs here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jpweb.runtime.configuration import WorkspaceConfig, list_reviewed, load_workspace_config
from jpweb.store.errors import InvalidConfigFile
from jpweb.store.jp_files import config, silo_bindings
from jpweb.store.masking.masks import load_conversation_masks
from jpweb.store.redaction.application import has_redactions
from jpweb.store.suspected_secrets import detector
from jpweb.store.workspace_config import trust
from jpweb.store.workspace_config.stored_config import StoredConfig, read_stored_config
from jpweb.stream.thread import SystemPart

if TYPE_CHECKING:
    from jpweb.agent.config import Configuration
    from jpweb.store.ledger.entries import Actor
    from jpweb.store.models import Conversation, Person, Workspace

#: Changes that are loaded for a page, the newest ones; loading takes some milliseconds each.
MAX_LISTED_CHANGES = 50
#: Keys and items that are loaded for a page, those of each change's load. 50,000 take 0.9 s;
#: 250,000 took 4.2 s, and more than 20 s on a busy machine.
MAX_LOADED_VALUES = 50_000
#: Parameters of a model whose values people see.
SHOWN_PARAMETERS = frozenset(
    {"max_tokens", "reasoning", "stop_words", "temperature", "top_k", "top_p", "verbosity"}
)
#: Names of tools in one line about a difference.
_MAX_NAMES = 10


def load_conversation_config(conversation: Conversation) -> WorkspaceConfig:
    """Load the configuration of the conversation's next turn.

    Where what it stores cannot be used, ``problem`` names it and no turn starts.
    """
    stored_config = read_stored_config(conversation)
    return load_workspace_config(conversation.workspace, stored_config, conversation.pk)


def grant_trust(
    conversation: Conversation, requests: Sequence[tuple[str, str, str]], person: Person
) -> None:
    """Trust items (kind, name, fingerprint) in one conversation alone, as a person saw them.

    Raises StaleVersion, and trusts none, where a fingerprint has changed.
    """
    reviewed_items = list_reviewed(load_conversation_config(conversation), requests)
    trust.grant_trust(conversation.workspace, reviewed_items, person, conversation.pk)


def withdraw_trust(
    conversation: Conversation, keys: Sequence[tuple[str, str]], actor: Actor
) -> int:
    """Withdraw trust in items (kind, name) that holds in one conversation; return their number."""
    return trust.withdraw_trust(conversation.workspace, keys, actor, conversation.pk)


@dataclass(frozen=True, slots=True)
class PromptText:
    """A part of a system prompt; empty and ``is_hidden`` where it may hold redacted content."""

    text: str
    is_hidden: bool = False


@dataclass(frozen=True, slots=True)
class ConfigStep:
    """The configuration from one place of the conversation on.

    ``position`` is that of the change, None for the beginning; ``turn_number`` that of the first
    turn under it, None where none began since. ``differences`` names what changed.
    """

    position: int | None
    turn_number: int | None
    config: WorkspaceConfig
    differences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversationConfigHistory:
    """The configurations of a conversation in the order of its stream, and the workspace's now.

    ``differences`` names what differs between the last step and the workspace.
    """

    steps: tuple[ConfigStep, ...]
    workspace: WorkspaceConfig
    differences: tuple[str, ...]
    problems: tuple[str, ...]
    omitted_count: int
    has_base: bool


def read_config_history(conversation: Conversation) -> ConversationConfigHistory:
    """Read every configuration that the conversation had, for people: with secrets masked."""
    stored_config = read_stored_config(conversation, load_conversation_masks(conversation.pk))
    workspace = conversation.workspace
    value_count = stored_config.value_count + _count_file_values(workspace)
    change_limit = MAX_LOADED_VALUES // max(value_count, 1)
    omitted_count = max(len(stored_config.changes) - min(change_limit, MAX_LISTED_CHANGES), 0)
    steps: list[ConfigStep] = []
    for count in range(omitted_count, len(stored_config.changes) + 1):
        if (
            count == 0
            and stored_config.base is None
            and stored_config.changes[:1]
            and _is_first(stored_config)
        ):
            continue  # the oldest layout stores the base as the first change
        config = load_workspace_config(
            workspace, stored_config.take_changes(count), conversation.pk
        )
        change = stored_config.changes[count - 1] if count else None
        steps.append(
            ConfigStep(
                change.position if change else None,
                change.turn_number if change else 0,
                config,
                list_differences(steps[-1].config, config) if steps else (),
            )
        )
    files = load_workspace_config(workspace)
    return ConversationConfigHistory(
        tuple(steps),
        files,
        list_differences(files, steps[-1].config),
        stored_config.problems,
        omitted_count,
        stored_config.base is not None,
    )


def list_differences(before: WorkspaceConfig, after: WorkspaceConfig) -> tuple[str, ...]:
    """Return the differences between two configurations, a line each."""
    old_config, new_config = before.configuration, after.configuration
    lines = []
    if old_config.assistant.model != new_config.assistant.model:
        old_name, new_name = name_model(old_config), name_model(new_config)
        is_renamed = old_name != new_name
        lines.append(f"model: {old_name} → {new_name}" if is_renamed else "model parameters")
    if old_config.assistant.system != new_config.assistant.system:
        lines.append("system prompt")
    if old_config.assistant.tool_choice != new_config.assistant.tool_choice:
        lines.append(
            f"tool choice: {old_config.assistant.tool_choice} → {new_config.assistant.tool_choice}"
        )
    lines += _list_tool_differences(old_config, new_config)
    if before.problem != after.problem:
        lines.append("can't be used" if after.problem else "can be used again")
    return tuple(lines)


def name_model(configuration: Configuration) -> str:
    """Return provider and name of the model, or “not configured”."""
    model = configuration.assistant.model
    return "/".join(filter(None, (model.provider, model.name))) or "not configured"


def list_prompt_texts(
    conversation: Conversation, history: ConversationConfigHistory, step: ConfigStep
) -> list[PromptText]:
    """Return the parts of a step's system prompt as people may read them.

    The files on disk know nothing of redactions: of a conversation with redactions, or a text in
    which something looks like a secret, the part is hidden.
    """
    is_redacted = history.has_base and has_redactions(conversation.pk)
    deadline = detector.start_event()
    texts = []
    for part in step.config.configuration.assistant.system:
        text = part.render_text() if isinstance(part, SystemPart) else part
        is_hidden = is_redacted or bool(detector.find_secrets(text, deadline))
        texts.append(PromptText("" if is_hidden else text, is_hidden))
    return texts


def _count_file_values(workspace: Workspace) -> int:
    silo = silo_bindings.find_bound_silo(workspace)
    try:
        return config.read_config(Path(workspace.root), silo).value_count
    except InvalidConfigFile:
        return 0


def _is_first(stored_config: StoredConfig) -> bool:
    return stored_config.changes[0].position == 0


def _list_tool_differences(old_config: Configuration, new_config: Configuration) -> list[str]:
    old_names = {name for name, tool in old_config.tools.items() if tool.enable.state}
    new_names = {name for name, tool in new_config.tools.items() if tool.enable.state}
    changed_names = {
        name
        for name in old_config.tools.keys() & new_config.tools.keys()
        if old_config.tools[name] != new_config.tools[name]
    }
    common_names = old_names & new_names
    groups = (
        ("tools on", new_names - old_names),
        ("tools off", old_names - new_names),
        ("tools changed", changed_names & common_names),
    )
    return [f"{label}: {_join_names(names)}" for label, names in groups if names]


def _join_names(names: Iterable[str]) -> str:
    sorted_names = sorted(names)
    text = ", ".join(sorted_names[:_MAX_NAMES])
    more_count = len(sorted_names) - _MAX_NAMES
    return f"{text} and {more_count} more" if more_count > 0 else text

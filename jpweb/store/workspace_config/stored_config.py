"""The stored configuration of a conversation: its base, and the changes in its stream."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from jpweb.store import db_text
from jpweb.store.choices import Origin, WritePolicy
from jpweb.store.errors import InvalidConfigFile, NoWorkspace
from jpweb.store.jp_files import directory_handles, mirror, silo_bindings, workspace, writer
from jpweb.store.jp_files.config import size_limits
from jpweb.store.jp_files.config.toml_process import check_limits
from jpweb.store.masking.masks import Masks
from jpweb.store.models import DEMO_ROOT, Conversation, JournalEntry, Turn
from jpweb.stream.events import ConfigDelta, ConversationEvent

BASE_CONFIG_NAME = "base_config.json"
#: The category that counts a conversation's changes of configuration.
_CATEGORY = "configuration"
#: Bytes of a base configuration at most; the largest known one has 300 KiB.
MAX_BASE_BYTES = 2 * directory_handles.MIB
#: Changes of configuration that are read of one conversation.
MAX_CHANGES = 500
#: Characters of one change, and of all changes together.
MAX_CHANGE_CHARACTERS, MAX_TOTAL_CHARACTERS = 512 * 1024, 4 * directory_handles.MIB


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """A ``config_delta`` at its position and anchor; it applies to later events.

    ``turn_number`` is that of the first turn under it, None where none began since.
    """

    position: int
    turn_number: int | None
    delta: Mapping[str, Any]
    digest: str
    anchor: str


@dataclass(frozen=True, slots=True)
class StoredConfig:
    """A conversation's base configuration and its changes, in the order of the stream.

    ``problems`` has a line for each part that could not be read; ``value_count`` is the number of
    keys and items of all others.
    """

    base: Mapping[str, Any] | None = None
    base_digest: str = ""
    changes: tuple[ConfigChange, ...] = ()
    problems: tuple[str, ...] = ()
    value_count: int = 0

    @property
    def layers(self) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        """The name and values of each part, lowest first."""
        base = () if self.base is None else ((BASE_CONFIG_NAME, self.base),)
        return (
            *base,
            *((f"configuration change at {c.position}", c.delta) for c in self.changes),
        )

    @property
    def fingerprint(self) -> str:
        """SHA-256 over all parts, to compare contents."""
        text = " ".join((self.base_digest, *(change.digest for change in self.changes)))
        return sha256(text.encode()).hexdigest()

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StoredConfig) and self.fingerprint == other.fingerprint

    def take_changes(self, change_count: int) -> StoredConfig:
        """Return the configuration after the first changes alone."""
        return StoredConfig(self.base, self.base_digest, self.changes[:change_count], self.problems)


NOTHING_STORED = StoredConfig()


def has_changes(conversation: Conversation) -> bool:
    """Tell without a query whether a conversation's row counts changes."""
    return bool(conversation.category_counts.get(_CATEGORY))


def has_files(conversation: Conversation) -> bool:
    """Tell whether a conversation may have files in its workspace."""
    if conversation.origin == Origin.NATIVE:
        is_written = conversation.workspace.writing != WritePolicy.OFF
        return is_written or bool(conversation.fingerprint)
    return conversation.origin == Origin.MIRRORED


def read_stored_config(conversation: Conversation, masks: Masks | None = None) -> StoredConfig:
    """Read a conversation's stored configuration. A part that cannot be read becomes a problem.

    ``masks`` hides suspected secrets of the changes from people. A conversation that began here has
    no base of its own: ``writer`` writes the smallest that JP loads, which decides nothing.
    """
    base, base_digest, problems, value_count = None, "", [], 0
    if has_files(conversation):
        try:
            content = _read_base_file(conversation)
            content = b"" if content == writer.SMALLEST_BASE_CONFIG else content
            base_digest = sha256(content).hexdigest() if content else ""
            if content:
                base, value_count = _parse_base(content)
        except InvalidConfigFile as error:
            problems.append(db_text.clean_text(str(error)))
    reader = _ChangeReader(masks or Masks(), value_count)
    change_problems = reader.read_changes(conversation.pk)
    return StoredConfig(
        base,
        base_digest,
        tuple(reader.changes),
        (*problems, *change_problems),
        reader.value_count,
    )


def _read_base_file(conversation: Conversation) -> bytes:
    """Return the bytes of the file; none where there is none. Raises InvalidConfigFile."""
    try:
        if conversation.workspace.root == DEMO_ROOT:
            disk_workspace = workspace.find_workspace(mirror.DEMO_PATH)
        else:
            disk_workspace = silo_bindings.find_bound(conversation.workspace)
        disk_conversation = workspace.find_conversation(disk_workspace, conversation.jp_id)
        if disk_conversation is None:
            return b""
        return directory_handles.read_file(
            disk_conversation.folder / BASE_CONFIG_NAME, MAX_BASE_BYTES
        )
    except (FileNotFoundError, NoWorkspace):
        return b""
    except OSError as error:
        raise InvalidConfigFile(f"{BASE_CONFIG_NAME}: {error.strerror}.") from error


def _parse_base(content: bytes) -> tuple[Mapping[str, Any], int]:
    """Return the values and how many they are. Raises InvalidConfigFile."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InvalidConfigFile(f"{BASE_CONFIG_NAME} is not JSON: {str(error)[:200]}.") from error
    if not isinstance(value, dict):
        raise InvalidConfigFile(f"{BASE_CONFIG_NAME} is not an object.")
    problem, value_count = _count_values(value)
    if problem:
        raise InvalidConfigFile(f"{BASE_CONFIG_NAME}: {problem}")
    return value, value_count


def _count_values(values: Mapping[str, Any]) -> tuple[str, int]:
    """Return the problem of too many keys and items, empty where none, and their number.

    Whoever merges the values refuses those that nest too deep.
    """
    return check_limits(values, MAX_BASE_BYTES, size_limits.MAX_VALUES)


class _ChangeReader:
    """Reads a conversation's changes within their limits, and those of all layers together."""

    def __init__(self, masks: Masks, value_count: int) -> None:
        self.changes: list[ConfigChange] = []
        self.value_count = value_count
        self._masks = masks
        self._character_count = 0

    def read_changes(self, conversation_id: int) -> list[str]:
        """Read the changes up to the first one that is too large; return the problem with it."""
        rows = JournalEntry.objects.filter(
            conversation_id=conversation_id, category=_CATEGORY, kind=ConfigDelta.TAG
        )
        starts = list(
            Turn.objects.filter(conversation_id=conversation_id)
            .order_by("position")
            .values_list("position", "number")
        )
        values = rows.order_by("position").values_list("position", "anchor", "text")
        for position, anchor, text in values[: MAX_CHANGES + 1]:
            turn_number = next((number for start, number in starts if start >= position), None)
            if not self._add_change(position, turn_number, anchor, text):
                return [
                    f"The configuration change at {position} and all later ones are too many or "
                    "too large to be read."
                ]
        return []

    def _add_change(self, position: int, turn_number: int | None, anchor: str, text: str) -> bool:
        """Add the change that a text holds, if any; return whether it is within the limits."""
        self._character_count += len(text)
        if (
            len(self.changes) == MAX_CHANGES
            or len(text) > MAX_CHANGE_CHARACTERS
            or self._character_count > MAX_TOTAL_CHARACTERS
        ):
            return False
        body = self._masks.read_element(anchor, text).body
        if not (isinstance(body, ConversationEvent) and isinstance(body.kind, ConfigDelta)):
            return True
        delta = body.kind.delta
        problem, value_count = _count_values(delta)
        if problem or self.value_count + value_count > size_limits.MAX_TOTAL_VALUES:
            return False
        self.value_count += value_count
        digest = sha256(text.encode(errors="surrogatepass")).hexdigest()
        self.changes.append(ConfigChange(position, turn_number, delta, digest, anchor))
        return True

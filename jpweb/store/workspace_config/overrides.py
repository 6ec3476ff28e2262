"""Configuration overrides of a workspace, edited by its owners: TOML, saved as typed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import tomlkit
from django.db import transaction
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable

from jpweb.store import db_text
from jpweb.store.choices import Act
from jpweb.store.errors import InvalidConfigFile, StaleVersion
from jpweb.store.jp_files import config
from jpweb.store.ledger.entries import OPERATOR, Actor, Place, record_act
from jpweb.store.models import Workspace

#: Name of the overrides in error messages and configuration layers, in place of a file's name.
OVERRIDES_NAME = "overrides"
MAX_OVERRIDES_CHARS = 256 * 1024
_STALE_TEXT = (
    "Someone else saved these overrides since you opened the page. Review their version first."
)


def normalize_text(typed_text: str) -> str:
    """Return the typed text with TOML's line ends, and without invalid characters."""
    return db_text.clean_text(typed_text.replace("\r\n", "\n"))


def parse_overrides(text: str) -> dict[str, Any]:
    """Return the values of the overrides. Raises InvalidConfigFile."""
    if len(text) > MAX_OVERRIDES_CHARS:
        raise InvalidConfigFile(f"{OVERRIDES_NAME}: longer than {MAX_OVERRIDES_CHARS // 1024} KiB.")
    return config.parse_toml(OVERRIDES_NAME, text)


def hash_text(text: str) -> str:
    """Return the hash of a text, by which a page detects a change."""
    return hashlib.sha256(text.encode()).hexdigest()


@transaction.atomic
def save_overrides(
    workspace: Workspace, text: str, seen_digest: str, actor: Actor = OPERATOR
) -> None:
    """Save overrides that replace those with ``seen_digest``. Raises StaleVersion."""
    current_overrides = workspace.overrides
    unchanged_row = Workspace.objects.filter(pk=workspace.pk, overrides=current_overrides)
    if hash_text(current_overrides) != seen_digest or not unchanged_row.update(overrides=text):
        raise StaleVersion(_STALE_TEXT)
    details = {"setting": "overrides", "hash": hash_text(text)}
    record_act(Act.SETTING_CHANGED, actor, Place(workspace.pk), **details)
    workspace.overrides = text


def toggle_tools(text: str, tools: Mapping[str, bool]) -> str:
    """Return the overrides with tools switched on or off. Raises InvalidConfigFile.

    Only ``enable.state`` is set. The permission to switch a tool stays that of the files, unless
    the overrides set it.
    """
    target_values = parse_overrides(text)
    for tool, is_enabled in tools.items():
        _toggle_in_values(target_values, tool, is_enabled)
    try:
        document = tomlkit.parse(text)
        for tool, is_enabled in tools.items():
            _toggle_in_document(document, target_values, tool, is_enabled)
        edited_text = tomlkit.dumps(document)
    except (TOMLKitError, TypeError, AttributeError, LookupError, ValueError) as error:
        raise InvalidConfigFile(_describe_manual_edit(tools)) from error
    if parse_overrides(edited_text) != target_values:
        raise InvalidConfigFile(_describe_manual_edit(tools))
    return edited_text


def _toggle_in_document(
    document: Any, target_values: Mapping[str, Any], tool: str, is_enabled: bool
) -> None:
    """Edit the TOML document for one tool, towards ``target_values``."""
    table = document
    for key in ("conversation", "tools", tool):
        if key not in table:
            table[key] = _make_table(parent=table, is_super_table=key != tool)
        table = table[key]
    enable = table.get("enable")
    if hasattr(enable, "keys"):
        enable["state"] = is_enabled
    else:
        inline_table = tomlkit.inline_table()
        inline_table.update(target_values["conversation"]["tools"][tool]["enable"])
        table["enable"] = inline_table


def _make_table(parent: Any, *, is_super_table: bool) -> Any:
    """Return a new table of the kind that its parent can hold."""
    if isinstance(parent, InlineTable):
        return tomlkit.inline_table()
    return tomlkit.table(is_super_table=is_super_table)


def _toggle_in_values(values: dict[str, Any], tool: str, is_enabled: bool) -> None:
    """Edit the plain values for one tool; the edited document must equal them."""
    table = values
    for key in ("conversation", "tools", tool):
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            raise InvalidConfigFile(f"{OVERRIDES_NAME}: {key} is not a table.")
    enable = table.get("enable")
    if enable == "explicit":  # short for state off with this allow_toggle
        enable = {"allow_toggle": "if_named"}
    table["enable"] = {**(enable if isinstance(enable, dict) else {}), "state": is_enabled}


def _describe_manual_edit(tools: Mapping[str, bool]) -> str:
    lines = [
        f"conversation.tools.{tool}.enable.state = {str(is_enabled).lower()}"
        for tool, is_enabled in tools.items()
    ]
    return f"The {OVERRIDES_NAME} are too complex to edit automatically. Add: {', '.join(lines)}"

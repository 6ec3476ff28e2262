"""What an owner lays over a workspace's files: TOML, kept as it was typed, comments and all."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable

from jpweb.store import plain
from jpweb.store.disk import config
from jpweb.store.errors import BadFile, Outdated
from jpweb.store.models import Workspace

#: What people know it by, beside the names of files.
NAME = "overrides"
SIZE = 256 * 1024
_CHANGED = (
    "Someone else saved these overrides since you opened the page. Review their version first."
)


def tidy(typed: str) -> str:
    """Return what somebody typed with the line ends of TOML, and as every database takes it."""
    return plain.text(typed.replace("\r\n", "\n"))


def parse(text: str) -> dict[str, Any]:
    """Return their values. Raises BadFile."""
    if len(text) > SIZE:
        raise BadFile(f"{NAME}: longer than {SIZE // 1024} KiB.")
    return config.parse(NAME, text)


def digest(text: str) -> str:
    """Return what a page remembers a text by, to tell whether it was changed since."""
    return hashlib.sha256(text.encode()).hexdigest()


def keep(workspace: Workspace, text: str, seen: str) -> None:
    """Keep overrides that were made of those with the digest ``seen``. Raises Outdated."""
    before = workspace.overrides
    kept = Workspace.objects.filter(pk=workspace.pk, overrides=before)
    if digest(before) != seen or not kept.update(overrides=text):
        raise Outdated(_CHANGED)
    workspace.overrides = text


def switched(text: str, tools: Mapping[str, bool]) -> str:
    """Return the overrides with tools switched on or off; all else stays. Raises BadFile.

    Only ``enable.state`` is said. Who may switch a tool is for the files to say, unless the
    overrides say it themselves.
    """
    wanted = parse(text)
    for tool, on in tools.items():
        _switched(wanted, tool, on)
    try:
        document = tomlkit.parse(text)
        for tool, on in tools.items():
            _switch(document, wanted, tool, on)
        edited = tomlkit.dumps(document)
    except (TOMLKitError, TypeError, AttributeError, LookupError, ValueError) as error:
        raise BadFile(_by_hand(tools)) from error
    if parse(edited) != wanted:
        raise BadFile(_by_hand(tools))
    return edited


def _switch(document: Any, wanted: Mapping[str, Any], tool: str, on: bool) -> None:
    """Edit the document for one tool; its new state is as ``wanted``."""
    table = document
    for key in ("conversation", "tools", tool):
        if key not in table:
            table[key] = _table(inside=table, leads_on=key != tool)
        table = table[key]
    enable = table.get("enable")
    if hasattr(enable, "keys"):
        enable["state"] = on
    else:
        inline = tomlkit.inline_table()
        inline.update(wanted["conversation"]["tools"][tool]["enable"])
        table["enable"] = inline


def _table(inside: Any, *, leads_on: bool) -> Any:
    """Return a new table of the kind that its parent can hold."""
    if isinstance(inside, InlineTable):
        return tomlkit.inline_table()
    return tomlkit.table(is_super_table=leads_on)


def _switched(values: dict[str, Any], tool: str, on: bool) -> None:
    """Change the values to what they should be: what the edited text is held against."""
    table = values
    for key in ("conversation", "tools", tool):
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            raise BadFile(f"{NAME}: {key} is not a table.")
    enable = table.get("enable")
    if enable == "explicit":  # the one word whose switch says who may switch
        enable = {"allow_toggle": "if_named"}
    table["enable"] = {**(enable if isinstance(enable, dict) else {}), "state": on}


def _by_hand(tools: Mapping[str, bool]) -> str:
    lines = [
        f"conversation.tools.{tool}.enable.state = {str(on).lower()}" for tool, on in tools.items()
    ]
    return f"The {NAME} are too complex to edit automatically. Add: {', '.join(lines)}"

"""Configuration in variables of the server's environment: ``JP_CFG_`` and a key.

Their place among files is JP's (docs/jp-format.md, Configuration files).
``JP_CFG_ASSISTANT_MODEL_ID=openai/gpt-5`` sets ``assistant.model.id``. A value that begins with
``:`` is JSON, and one that begins with ``+`` joins what lies below, as in JP.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

from jpweb.store import db_text
from jpweb.store.errors import InvalidConfigFile

PREFIX = "JP_CFG_"
_EFFORT_WORDS = frozenset({"none", "max", "xhigh", "high", "medium", "low", "xlow"})


class _Kind(StrEnum):
    """How the text of a variable is read, where it is not JSON."""

    TEXT = "a string"
    JOINED_TEXT = "a string that may join another"
    LIST = "a list of strings between commas"
    NUMBER = "a number"
    FLAG = "true or false"
    TOGGLE = "true, false or a word"
    REASONING = "off, auto, an effort or a number of tokens"
    TABLE = "JSON after a colon"


_Tree: TypeAlias = "Mapping[str, _Tree | _Kind]"

#: The key under which a table has the meaning of a text in its place.
_OWN = ""
#: The key of a table that takes any name: the part up to the next underscore.
_ANY = "*"

_MODEL: _Tree = {
    "id": {_OWN: _Kind.TEXT, "provider": _Kind.TEXT, "name": _Kind.TEXT},
    "parameters": {
        "max_tokens": _Kind.NUMBER,
        "temperature": _Kind.NUMBER,
        "top_p": _Kind.NUMBER,
        "top_k": _Kind.NUMBER,
        "stop_words": _Kind.LIST,
        "reasoning": _Kind.REASONING,
        "verbosity": _Kind.TEXT,
        "reasoning_mode": _Kind.TEXT,
        "context_window": _Kind.NUMBER,
        "keep_alive": _Kind.TEXT,
    },
}
_ASSISTANT: _Tree = {
    "name": _Kind.TEXT,
    "system_prompt": _Kind.JOINED_TEXT,
    "system_prompt_sections": _Kind.TABLE,
    "instructions": _Kind.TABLE,
    "tool_choice": _Kind.TEXT,
    "model": _MODEL,
    "request": {
        "max_retries": _Kind.NUMBER,
        "base_backoff_ms": _Kind.NUMBER,
        "max_backoff_secs": _Kind.NUMBER,
        "max_response_bytes": _Kind.NUMBER,
        "stream_idle_timeout_secs": _Kind.NUMBER,
        "cache": _Kind.TEXT,
    },
}
_TOOL: _Tree = {
    "enable": _Kind.TOGGLE,
    "run": _Kind.TEXT,
    "result": _Kind.TEXT,
    "source": _Kind.TEXT,
    "command": _Kind.TEXT,
    "summary": _Kind.TEXT,
    "description": _Kind.TEXT,
    "examples": _Kind.TEXT,
}
_VENDOR: _Tree = {"base_url": _Kind.TEXT, "api_key_env": _Kind.TEXT}
_KEYS: _Tree = {
    "assistant": _ASSISTANT,
    "conversation": {"inquiry": {"assistant": _ASSISTANT}, "tools": {_ANY: _TOOL}},
    "providers": {
        "llm": {"aliases": {_ANY: _Kind.TEXT}, _ANY: _VENDOR},
        "mcp": {_ANY: {"command": _Kind.TEXT, "optional": _Kind.FLAG}},
    },
}


class _Value(NamedTuple):
    """The text of a variable without its marks."""

    text: str
    is_json: bool
    is_joined: bool


def read_variables() -> tuple[tuple[tuple[str, Mapping[str, Any]], ...], tuple[str, ...]]:
    """Return the name and values of each variable, by name, and notes on those of other keys.

    Raises InvalidConfigFile for a value that its key cannot have; the message is without it.
    """
    layers, notes = [], []
    for name in sorted(name for name in os.environ if name.startswith(PREFIX)):
        key_match = _find_key(_KEYS, name.removeprefix(PREFIX).lower())
        if key_match is None:
            notes.append(f"{db_text.clean_text(name)} was not read: jpweb uses no such key.")
            continue
        path, kind = key_match
        values: Any = _read_value(name, db_text.clean_text(os.environ[name]), kind)
        for key in reversed(path):
            values = {key: values}
        layers.append((db_text.clean_text(name), values))
    return tuple(layers), tuple(notes)


def _find_key(tree: _Tree, name: str) -> tuple[tuple[str, ...], _Kind] | None:
    """Return the path that a name spells with underscores, and the kind of its value."""
    steps = [(key, name.removeprefix(key)) for key in tree if key and name.startswith(key)]
    if _ANY in tree:
        key, mark, remainder = name.partition("_")
        steps.append((key, mark + remainder))
    for key, remainder in steps:
        child = tree.get(key, tree.get(_ANY))
        if not remainder and child is not None:
            key_kind = child.get(_OWN, _Kind.TABLE) if isinstance(child, Mapping) else child
            return ((key,), key_kind) if isinstance(key_kind, _Kind) else None
        if remainder.startswith("_") and isinstance(child, Mapping):
            child_match = _find_key(child, remainder[1:])
            if child_match is not None:
                return (key, *child_match[0]), child_match[1]
    return None


def _split_marks(text: str) -> _Value:
    """Take the marks ``:`` and ``+``, in any order, from the beginning; a backslash keeps one."""
    is_json = is_joined = False
    while text[:1] in (":", "+"):
        if (text[0] == ":" and is_json) or (text[0] == "+" and is_joined):
            break
        is_json, is_joined = is_json or text[0] == ":", is_joined or text[0] == "+"
        text = text[1:]
    return _Value(text[1:] if text[:2] in ("\\:", "\\+") else text, is_json, is_joined)


def _read_value(name: str, written_value: str, kind: _Kind) -> Any:
    text, is_json, is_joined = _split_marks(written_value)
    try:
        value: Any = json.loads(text) if is_json else _parse_text(text, kind)
    except (ValueError, RecursionError) as error:
        needed_type = "JSON" if is_json else kind.value
        raise InvalidConfigFile(
            f"The environment variable {name} is not {needed_type}. "
            "Correct it where jpweb is started."
        ) from error
    if isinstance(value, list) and (is_joined or kind is _Kind.LIST):
        return {"value": value, "strategy": "append" if is_joined else "replace"}
    if is_joined and kind is _Kind.JOINED_TEXT and isinstance(value, str):
        return {"value": value, "strategy": "append"}
    return value


def _parse_text(text: str, kind: _Kind) -> Any:
    """Return the value of a text. Raises ValueError."""
    match kind:
        case _Kind.LIST:
            return [part for part in text.split(",") if part]
        case _Kind.NUMBER:
            return float(text) if {*text} & {*".eE"} else int(text)
        case _Kind.FLAG | _Kind.TOGGLE if text in ("true", "false"):
            return text == "true"
        case _Kind.REASONING:
            return _parse_reasoning(text)
        case _Kind.FLAG | _Kind.TABLE:
            raise ValueError
        case _:
            return text


def _parse_reasoning(text: str) -> Any:
    if text in ("off", "auto"):
        return text
    return {"effort": text if text in _EFFORT_WORDS else {"absolute": int(text)}}

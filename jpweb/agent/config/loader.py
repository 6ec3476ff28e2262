"""Loads a workspace's configuration from its layers. Pure; raises only InvalidConfiguration."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from jpweb.agent.config import providers, system_prompt, toggles, tools
from jpweb.agent.config.layers import Layer, normalize_layer
from jpweb.agent.config.table_reader import TableReader
from jpweb.agent.config.types import (
    UNSET_MODEL,
    AllowToggle,
    AssistantConfig,
    Configuration,
    RequestConfig,
    ToolConfig,
)
from jpweb.agent.errors import InvalidConfiguration

_RETRY_LIMIT, _BASE_LIMIT_MS, _BACKOFF_LIMIT_SECONDS = 100, 3_600_000, 3_600
_MAX_BYTES, _MAX_IDLE_SECONDS = 2**40, 2**32 - 1
#: The shortest time without activity, other than none, after which a reply may fail.
MIN_IDLE_SECONDS = 10
#: The times for which Anthropic caches a prompt, and the seconds from which on the longer is meant.
SHORT_CACHE, LONG_CACHE, _LONG_CACHE_SECONDS = "5m", "1h", 1_800
_CACHE_WORDS: Mapping[str, bool | str] = {
    "off": False,
    "false": False,
    "short": True,
    "true": True,
    "long": LONG_CACHE,
}
_DURATION = re.compile(r"([0-9]{1,9})(s|m|h|d)", re.ASCII)
_UNIT_SECONDS: Mapping[str, int] = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
#: Keys that JP has and jpweb does not use, by their table.
_UNUSED_KEYS: Mapping[str, tuple[str, ...]] = {
    "": (
        "config_load_paths",
        "editor",
        "extends",
        "inherit",
        "interrupt",
        "plugins",
        "style",
        "template",
    ),
    "assistant": ("system_prompt", "system_prompt_sections", "instructions"),
    "conversation": ("attachments", "compaction", "default_id", "labels", "start_local", "title"),
}


def load_configuration(
    layers: Sequence[Layer], builtins: Sequence[ToolConfig] = ()
) -> Configuration:
    """Return the merged configuration of the layers, the built-in tools' own settings lowest."""
    layers = [toggles.expand_shorthands(normalize_layer(layer)) for layer in layers]
    root = TableReader.from_layers(layers)
    aliases = providers.read_aliases(root)
    assistant = _read_assistant(root.get_table("assistant"), aliases, layers)
    conversation, providers_table = root.get_table("conversation"), root.get_table("providers")
    inquiry = conversation.get_table("inquiry")
    configuration = Configuration(
        assistant=assistant,
        inquiry=providers.read_inquiry(
            inquiry.get_table("assistant"), aliases, assistant.model, is_unlimited=False
        ),
        tools=_offer_forced_tool(
            root.get_table("assistant"),
            tools.read_tools(conversation.get_table("tools"), builtins, aliases),
            assistant.tool_choice,
        ),
        providers=providers.read_providers(root),
        servers=providers.read_servers(root),
    )
    providers_table.note_unknown_keys("llm", "mcp")
    inquiry.note_unknown_keys()
    conversation.note_unknown_keys(*_UNUSED_KEYS["conversation"])
    root.note_unknown_keys("template", *_UNUSED_KEYS[""])
    return Configuration(
        configuration.assistant,
        configuration.inquiry,
        configuration.tools,
        configuration.providers,
        configuration.servers,
        tuple(root.notes),
    )


def _offer_forced_tool(
    table: TableReader, configs: Mapping[str, ToolConfig], tool_choice: str
) -> Mapping[str, ToolConfig]:
    """Switch on the tool that ``tool_choice`` forces; refuse one that is locked.

    See docs/jp-format.md, Forced tool.
    """
    tool = configs.get(tool_choice)
    if tool is None or tool.enable.state:
        return configs
    if tool.enable.allow_toggle is AllowToggle.NEVER:
        raise InvalidConfiguration(
            f"{table.locate_key('tool_choice')} forces `{tool_choice}`, which is locked off: its "
            "allow_toggle is never. Switch it on, or choose another tool."
        )
    return toggles.toggle_tools(configs, {tool_choice: True})


def _read_assistant(
    table: TableReader, aliases: providers.ModelAliases, layers: Sequence[Layer]
) -> AssistantConfig:
    request = table.get_table("request")
    assistant = AssistantConfig(
        name=table.get_text("name"),
        system=system_prompt.read_system_prompt(layers, ("assistant",)),
        model=providers.read_model(table.get_table("model"), aliases) or UNSET_MODEL,
        tool_choice=_read_tool_choice(table),
        request=_read_request(request),
    )
    table.note_unknown_keys(*_UNUSED_KEYS["assistant"])
    return assistant


def _read_tool_choice(table: TableReader) -> str:
    value: Any = table.get("tool_choice")
    if isinstance(value, Mapping):
        value = table.get_table("tool_choice").get_text("function")
    if value is None:
        return "auto"
    if isinstance(value, str) and value:
        return value
    raise table.make_error("tool_choice", "auto, none, required or the name of a tool")


def _read_request(table: TableReader) -> RequestConfig:
    defaults = RequestConfig()
    retries = table.get_whole_number("max_retries", _RETRY_LIMIT)
    base = table.get_whole_number("base_backoff_ms", _BASE_LIMIT_MS)
    maximum = table.get_whole_number("max_backoff_secs", _BACKOFF_LIMIT_SECONDS)
    max_bytes = table.get_whole_number("max_response_bytes", _MAX_BYTES)
    idle_seconds = table.get_whole_number("stream_idle_timeout_secs", _MAX_IDLE_SECONDS)
    if idle_seconds is not None and 0 < idle_seconds < MIN_IDLE_SECONDS:
        raise table.make_error(
            "stream_idle_timeout_secs", f"0 for no limit, or at least {MIN_IDLE_SECONDS}"
        )
    cache = _read_cache(table)
    table.note_unknown_keys()
    return RequestConfig(
        defaults.max_retries if retries is None else retries,
        defaults.base_backoff if base is None else base / 1000,
        defaults.max_backoff if maximum is None else float(maximum),
        defaults.max_response_bytes if max_bytes is None else max_bytes,
        defaults.idle_seconds if idle_seconds is None else float(idle_seconds),
        cache,
    )


def _read_cache(table: TableReader) -> bool | str:
    """Return the caching of prompts (docs/jp-format.md, Prompt cache).

    A duration becomes one that Anthropic has.
    """
    value = table.get("cache")
    if value is None:
        return True
    if isinstance(value, bool):
        return value
    word = value if isinstance(value, str) else ""
    if word in _CACHE_WORDS:
        return _CACHE_WORDS[word]
    duration = _DURATION.fullmatch(word)
    if duration is None:
        raise table.make_error("cache", 'off, short, long, or a time such as "10m"')
    seconds = int(duration[1]) * _UNIT_SECONDS[duration[2]]
    return LONG_CACHE if seconds >= _LONG_CACHE_SECONDS else SHORT_CACHE

"""A workspace's configuration from its layers. Pure; raises BadConfiguration and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jpweb.agent.config import enabling, entries, models, prompts
from jpweb.agent.config.layers import Layer, plain
from jpweb.agent.config.tables import Table
from jpweb.agent.config.values import (
    UNSET_MODEL,
    Assistant,
    Configuration,
    RequestConfig,
    ToolConfig,
)

_RETRIES, _MILLISECONDS, _SECONDS = 100, 3_600_000, 3_600
#: Keys that JP has and jpweb does not use, by their table.
_UNUSED: Mapping[str, tuple[str, ...]] = {
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
    "request": ("cache", "max_response_bytes"),
}


def read(layers: Sequence[Layer], builtins: Sequence[ToolConfig] = ()) -> Configuration:
    """Return what the layers configure together, the built-in tools' own settings lowest."""
    layers = [enabling.spelled_out(plain(layer)) for layer in layers]
    root = Table.root(layers)
    known = models.aliases(root)
    assistant = _assistant(root.table("assistant"), known, layers)
    conversation, providers = root.table("conversation"), root.table("providers")
    inquiry = conversation.table("inquiry")
    made = Configuration(
        assistant=assistant,
        inquiry=models.inquiry(inquiry.table("assistant"), known, assistant.model, unlimited=False),
        tools=entries.tools(conversation.table("tools"), builtins, known, assistant.model),
        providers=models.providers(root),
        servers=models.servers(root),
    )
    providers.close("llm", "mcp")
    inquiry.close()
    conversation.close(*_UNUSED["conversation"])
    root.close("template", *_UNUSED[""])
    return Configuration(
        made.assistant, made.inquiry, made.tools, made.providers, made.servers, tuple(root.notes)
    )


def _assistant(table: Table, known: models.Aliases, layers: Sequence[Layer]) -> Assistant:
    request = table.table("request")
    made = Assistant(
        name=table.text("name"),
        system=prompts.system(layers, ("assistant",)),
        model=models.model(table.table("model"), known, None) or UNSET_MODEL,
        tool_choice=_tool_choice(table),
        request=_request(request),
    )
    table.close(*_UNUSED["assistant"])
    return made


def _tool_choice(table: Table) -> str:
    value: Any = table.get("tool_choice")
    if isinstance(value, Mapping):
        value = table.table("tool_choice").text("function")
    if value is None:
        return "auto"
    if isinstance(value, str) and value:
        return value
    raise table.refuse("tool_choice", "auto, none, required or the name of a tool")


def _request(table: Table) -> RequestConfig:
    plainly = RequestConfig()
    retries = table.whole("max_retries", _RETRIES)
    base = table.whole("base_backoff_ms", _MILLISECONDS)
    high = table.whole("max_backoff_secs", _SECONDS)
    table.close(*_UNUSED["request"])
    return RequestConfig(
        plainly.max_retries if retries is None else retries,
        plainly.base_backoff if base is None else base / 1000,
        plainly.max_backoff if high is None else float(high),
    )

"""Reads the tools: ``conversation.tools``, its defaults, and the settings of built-ins."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from jpweb.agent.config import commands, providers, toggles
from jpweb.agent.config.layered_list import LayeredList
from jpweb.agent.config.layers import merge_options
from jpweb.agent.config.table_reader import TableReader, join_choices
from jpweb.agent.config.tool_schema import read_schema
from jpweb.agent.config.types import (
    CAPABILITIES,
    AccessRule,
    ApprovalMode,
    BuiltinSource,
    DetachedPolicy,
    EnableConfig,
    LocalSource,
    ParameterText,
    QuestionConfig,
    QuestionTarget,
    SettingPlace,
    StaticAnswer,
    ToolCommand,
    ToolConfig,
    ToolSource,
)
from jpweb.agent.errors import InvalidConfiguration

DetachedPolicies: TypeAlias = dict[Literal["run", "deliver", "tool"], DetachedPolicy]

DEFAULTS_KEY = "*"
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)
#: Keys that JP has and jpweb does not use.
_UNUSED_KEYS = ("style",)


@dataclass(frozen=True, slots=True)
class ToolDefaults:
    """``conversation.tools."*"``."""

    enable: EnableConfig | None = None
    run: ApprovalMode | None = None
    run_setting: SettingPlace | None = None
    result: ApprovalMode | None = None
    cancellation_response: str | None = None
    formatter: ToolCommand | None = None
    format: ApprovalMode | None = None
    detached: DetachedPolicies = field(default_factory=dict)


def read_tools(
    table: TableReader,
    builtins: Sequence[ToolConfig],
    aliases: providers.ModelAliases,
) -> dict[str, ToolConfig]:
    """Return every tool, the built-ins first."""
    defaults = _read_defaults(table.get_table(DEFAULTS_KEY))
    builtins_by_name = {tool.name: tool for tool in builtins}
    configs: dict[str, ToolConfig] = {}
    for name in [
        *builtins_by_name,
        *(name for name in table.values if name not in builtins_by_name),
    ]:
        if name == DEFAULTS_KEY:
            continue
        if not _TOOL_NAME.fullmatch(name):
            raise InvalidConfiguration(
                f"{table.locate_key(name)} must have a name of 1 to 128 letters, digits, _ and -."
            )
        reader = _ToolReader(table.get_table(name), name, builtins_by_name.get(name), defaults)
        configs[name] = reader.read_tool(aliases)
    return configs


def _read_defaults(table: TableReader) -> ToolDefaults:
    defaults = ToolDefaults(
        enable=toggles.read_enable(table),
        run=table.get_choice("run", ApprovalMode),
        run_setting=table.find_setting("run"),
        result=table.get_choice("result", ApprovalMode),
        cancellation_response=table.get_text("cancellation_response"),
        formatter=commands.read_formatter(table),
        format=table.get_choice("format", ApprovalMode),
        detached=_read_detached(table),
    )
    table.note_unknown_keys(*_UNUSED_KEYS)
    return defaults


@dataclass(frozen=True, slots=True)
class _ToolReader:
    """Reads one tool: its table, over the built-in's settings, over the defaults."""

    table: TableReader
    name: str
    builtin: ToolConfig | None
    defaults: ToolDefaults

    def read_tool(self, aliases: providers.ModelAliases) -> ToolConfig:
        table, builtin = self.table, self.builtin
        source = commands.read_source(table, self.name, builtin is not None)
        parameters = table.get_table("parameters")
        style = table.get("style")
        is_styled = isinstance(style, Mapping) and style.get("parameters") is not None
        config = ToolConfig(
            name=self.name,
            description=_coalesce(
                table.get_text("description"), builtin.description if builtin else ""
            )
            or "",
            parameters=read_schema(
                parameters,
                builtin.parameters if builtin else {},
                is_typed=isinstance(source, LocalSource) and builtin is None,
            ),
            questions=self._read_questions(aliases),
            source=source,
            enable=toggles.resolve_enable(
                table, builtin.enable if builtin else None, self.defaults.enable
            ),
            summary=_coalesce(table.get_text("summary"), builtin.summary if builtin else None),
            examples=_coalesce(table.get_text("examples"), builtin.examples if builtin else None),
            run=self._read_mode("run", isinstance(source, BuiltinSource)),
            run_setting=self._find_run_setting(isinstance(source, BuiltinSource)),
            result=self._read_mode("result", isinstance(source, BuiltinSource)),
            cancellation_response=_coalesce(
                table.get_text("cancellation_response"), self.defaults.cancellation_response
            ),
            formatter=commands.read_formatter(table) if is_styled else self.defaults.formatter,
            format=table.get_choice("format", ApprovalMode) or self.defaults.format,
            options=_read_options(table),
            access=self._read_access(source),
            parameter_texts={
                name: ParameterText(*(parameter.get_text(key) for key in ParameterText._fields))
                for name, parameter in parameters.iter_tables()
            },
            declared=parameters.values,
            detached={**self.defaults.detached, **_read_detached(table)},
        )
        table.note_unknown_keys("command", *_UNUSED_KEYS)
        return config

    def _read_access(self, source: ToolSource) -> tuple[AccessRule, ...] | None:
        """Return the access rules of all layers; paths are looked at when the tool runs."""
        if self.table.get_mapping("access") is None:
            return None
        if not isinstance(source, LocalSource):
            kind = source.KIND.lower()
            raise InvalidConfiguration(
                f"{self.table.locate_key('access')} is only supported on local tools, and "
                f"{self.name} is a {kind} tool. Remove it, or make the tool local."
            )
        table = self.table.get_table("access")
        unknown_key = next((key for key in table.values if key != "fs"), None)
        if unknown_key is not None:
            raise table.make_error(unknown_key, "fs, the only kind of access")
        entries = LayeredList()
        for layer in table.layers:
            entries.add_layer(TableReader.from_layer(layer).descend(table.path), "fs")
        return tuple(_read_rule(*entry) for entry in entries.entries)

    def _read_mode(self, key: Literal["run", "result"], is_inside: bool) -> ApprovalMode:
        """Return a mode. A tool from outside asks before it runs, unless configured otherwise."""
        mode = self.table.get_choice(key, ApprovalMode)
        if mode is not None:
            return mode
        if is_inside and self.builtin is not None:
            return self.builtin.run if key == "run" else self.builtin.result
        if key == "result":
            return self.defaults.result or ApprovalMode.UNATTENDED
        return self.defaults.run or (ApprovalMode.UNATTENDED if is_inside else ApprovalMode.ASK)

    def _find_run_setting(self, is_inside: bool) -> SettingPlace | None:
        """Return the place of ``run``; the defaults hold for tools from outside alone."""
        place = self.table.find_setting("run")
        return self.defaults.run_setting if place is None and not is_inside else place

    def _read_questions(self, aliases: providers.ModelAliases) -> dict[str, QuestionConfig]:
        configs = dict(self.builtin.questions) if self.builtin else {}
        for question, table in self.table.get_table("questions").iter_tables():
            configs[question] = _read_question(table, configs.get(question), aliases)
        return configs


def _read_options(table: TableReader) -> dict[str, Any]:
    table.get_mapping("options")
    readers = (TableReader.from_layer(layer).descend(table.path) for layer in table.layers)
    return merge_options([reader.get_mapping("options") or {} for reader in readers])


def _read_rule(parent: TableReader, number: int, item: object) -> AccessRule:
    if not isinstance(item, Mapping):
        raise parent.make_child(str(number), {"path": item}).make_error(
            "path", "in a table: {path = …, read = true}"
        )
    table = parent.make_child(str(number), item)
    path = table.get_text("path")
    if path is None or "\0" in path:
        raise table.make_error("path", "a path in the workspace")
    rule = AccessRule(
        path,
        table.get_flag("external") or False,
        *(table.get_flag(capability) for capability in CAPABILITIES),
    )
    unknown_key = next((key for key in table.values if key not in table.known_keys), None)
    if unknown_key is not None:
        raise table.make_error(unknown_key, f"one of path, external, {', '.join(CAPABILITIES)}")
    return rule


def _read_question(
    table: TableReader,
    base_question: QuestionConfig | None,
    aliases: providers.ModelAliases,
) -> QuestionConfig:
    config = base_question or QuestionConfig()
    target = table.get("target")
    if isinstance(target, Mapping):
        inquiry = providers.read_inquiry(table.get_table("target"), aliases, is_unlimited=True)
        config = replace(config, target=QuestionTarget.ASSISTANT, inquiry=inquiry)
    elif target is not None:
        if target not in list(QuestionTarget):
            raise table.make_error("target", f"{join_choices(*QuestionTarget)}, or a table")
        config = replace(config, target=QuestionTarget(target))
    if table.get("answer") is not None:
        config = replace(config, answer=StaticAnswer(table.get("answer")))
    label, is_exclusive = table.get_text("prompt_label"), table.get_flag("exclusive")
    expires_after = table.get_seconds("expires_after")
    table.note_unknown_keys()
    return replace(
        config,
        prompt_label=_coalesce(label, config.prompt_label),
        exclusive=config.exclusive if is_exclusive is None else is_exclusive,
        expires_after=config.expires_after if expires_after is None else expires_after,
    )


def _read_detached(table: TableReader) -> DetachedPolicies:
    value = table.get("detached")
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise table.make_error(
            "detached", f"{join_choices(*DetachedPolicy)}, or a table of run, deliver and tool"
        )
    detached_table = table.get_table("detached")
    policies: DetachedPolicies = {}
    for kind in ("run", "deliver", "tool"):
        policy = detached_table.get_choice(kind, DetachedPolicy)
        if policy is not None:
            policies[kind] = policy
    detached_table.note_unknown_keys()
    return policies


def _coalesce(value: str | None, fallback: str | None) -> str | None:
    return fallback if value is None else value

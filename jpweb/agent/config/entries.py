"""The tools: ``conversation.tools``, its defaults, and what built-ins bring themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from jpweb.agent.config import commands, enabling, models
from jpweb.agent.config.schema import schema
from jpweb.agent.config.tables import Table, one_of
from jpweb.agent.config.values import (
    Builtin,
    Command,
    Detached,
    Enable,
    Local,
    Mode,
    ModelConfig,
    QuestionConfig,
    QuestionTarget,
    StaticAnswer,
    ToolConfig,
)
from jpweb.agent.errors import BadConfiguration

Policies: TypeAlias = dict[Literal["run", "deliver", "tool"], Detached]

DEFAULTS = "*"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)
#: Keys that JP has and jpweb does not use.
_UNUSED = ("style",)


@dataclass(frozen=True, slots=True)
class Defaults:
    """``conversation.tools."*"``."""

    enable: Enable | None = None
    run: Mode | None = None
    result: Mode | None = None
    cancellation_response: str | None = None
    formatter: Command | None = None
    format: Mode | None = None
    detached: Policies = field(default_factory=dict)


def tools(
    table: Table, builtins: Sequence[ToolConfig], known: models.Aliases, main: ModelConfig
) -> dict[str, ToolConfig]:
    """Return every tool, the built-ins first; ``main`` is the assistant's model."""
    defaults = _defaults(table.table(DEFAULTS))
    own = {tool.name: tool for tool in builtins}
    made: dict[str, ToolConfig] = {}
    for name in [*own, *(name for name in table.values if name not in own)]:
        if name == DEFAULTS:
            continue
        if not _NAME.fullmatch(name):
            raise BadConfiguration(
                f"{table.place(name)} must have a name of 1 to 128 letters, digits, _ and -."
            )
        reader = _Entry(table.table(name), name, own.get(name), defaults)
        made[name] = reader.read(known, main)
    return made


def _defaults(table: Table) -> Defaults:
    made = Defaults(
        enable=enabling.enable_or_none(table),
        run=table.choice("run", Mode),
        result=table.choice("result", Mode),
        cancellation_response=table.text("cancellation_response"),
        formatter=commands.formatter(table),
        format=table.choice("format", Mode),
        detached=_detached(table),
    )
    table.close(*_UNUSED)
    return made


@dataclass(frozen=True, slots=True)
class _Entry:
    """One tool: what the table says, over what the built-in brings, over the defaults."""

    table: Table
    name: str
    builtin: ToolConfig | None
    defaults: Defaults

    def read(self, known: models.Aliases, main: ModelConfig) -> ToolConfig:
        table, own = self.table, self.builtin
        source = commands.source(table, self.name, own is not None)
        parameters = table.table("parameters")
        style = table.get("style")
        styled = isinstance(style, Mapping) and style.get("parameters") is not None
        made = ToolConfig(
            name=self.name,
            description=_or(table.text("description"), own.description if own else "") or "",
            parameters=schema(
                parameters,
                own.parameters if own else {},
                typed=isinstance(source, Local) and own is None,
            ),
            questions=self._questions(known, main),
            source=source,
            enable=enabling.enable(table, own.enable if own else None, self.defaults.enable),
            summary=_or(table.text("summary"), own.summary if own else None),
            examples=_or(table.text("examples"), own.examples if own else None),
            run=self._mode("run", isinstance(source, Builtin)),
            result=self._mode("result", isinstance(source, Builtin)),
            cancellation_response=_or(
                table.text("cancellation_response"), self.defaults.cancellation_response
            ),
            formatter=commands.formatter(table) if styled else self.defaults.formatter,
            format=table.choice("format", Mode) or self.defaults.format,
            options=table.mapping("options") or {},
            access=table.mapping("access"),
            declared=parameters.values,
            detached={**self.defaults.detached, **_detached(table)},
        )
        table.close("command", *_UNUSED)
        return made

    def _mode(self, key: Literal["run", "result"], inside: bool) -> Mode:
        """Return a mode. What runs outside asks before it runs, unless told not to."""
        said = self.table.choice(key, Mode)
        if said is not None:
            return said
        if inside and self.builtin is not None:
            return self.builtin.run if key == "run" else self.builtin.result
        if key == "result":
            return self.defaults.result or Mode.UNATTENDED
        return self.defaults.run or (Mode.UNATTENDED if inside else Mode.ASK)

    def _questions(self, known: models.Aliases, main: ModelConfig) -> dict[str, QuestionConfig]:
        made = dict(self.builtin.questions) if self.builtin else {}
        for question, table in self.table.table("questions").tables():
            made[question] = _question(table, made.get(question), known, main)
        return made


def _question(
    table: Table, below: QuestionConfig | None, known: models.Aliases, main: ModelConfig
) -> QuestionConfig:
    made = below or QuestionConfig()
    target = table.get("target")
    if isinstance(target, Mapping):
        inquiry = models.inquiry(table.table("target"), known, main, unlimited=True)
        made = replace(made, target=QuestionTarget.ASSISTANT, inquiry=inquiry)
    elif target is not None:
        if target not in list(QuestionTarget):
            raise table.refuse("target", f"{one_of(*QuestionTarget)}, or a table")
        made = replace(made, target=QuestionTarget(target))
    if table.get("answer") is not None:
        made = replace(made, answer=StaticAnswer(table.get("answer")))
    label, exclusive = table.text("prompt_label"), table.flag("exclusive")
    expires_after = table.seconds("expires_after")
    table.close()
    return replace(
        made,
        prompt_label=_or(label, made.prompt_label),
        exclusive=made.exclusive if exclusive is None else exclusive,
        expires_after=made.expires_after if expires_after is None else expires_after,
    )


def _detached(table: Table) -> Policies:
    value = table.get("detached")
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise table.refuse("detached", f"{one_of(*Detached)}, or a table of run, deliver and tool")
    inner = table.table("detached")
    made: Policies = {}
    for kind in ("run", "deliver", "tool"):
        policy = inner.choice(kind, Detached)
        if policy is not None:
            made[kind] = policy
    inner.close()
    return made


def _or(said: str | None, below: str | None) -> str | None:
    return below if said is None else said

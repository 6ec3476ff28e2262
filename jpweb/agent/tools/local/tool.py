"""A configured tool that is a subprocess."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from jpweb.agent.config import Command, Local, ToolConfig
from jpweb.agent.errors import ToolUnavailable
from jpweb.agent.outcome import Failed, Outcome, Success
from jpweb.agent.ports import Ask
from jpweb.agent.redaction import SecretAnswer, after_cut, redacted
from jpweb.agent.tools.local.private import private_file
from jpweb.agent.tools.local.process import Cut, Ended, Limits, run
from jpweb.agent.tools.local.reading import outcome
from jpweb.agent.tools.local.templates import argv

_OURS = ("JPWEB_", "DJANGO_", "DATABASE_URL", "REDIS_URL")


def environment(hidden: Iterable[str] = ()) -> dict[str, str]:
    """Return what tools inherit: this process's environment without what is jpweb's own.

    ``hidden`` names what else is not theirs, the keys of providers above all.
    """
    kept = frozenset(hidden)
    return {
        name: value
        for name, value in os.environ.items()
        if name not in kept and not name.startswith(_OURS)
    }


@dataclass(frozen=True, slots=True)
class Place:
    """Where tools run, and for which conversation."""

    root: Path
    workspace_id: str
    conversation_id: str
    environment: Mapping[str, str] = field(default_factory=environment, repr=False)


class LocalTool:
    """Runs a command anew for each execution; it asks by its output and is run again."""

    def __init__(self, config: ToolConfig, place: Place, limits: Limits | None = None) -> None:
        if not isinstance(config.source, Local):
            raise TypeError(f"{config.name} is not a local tool")
        self._config = config
        self._command = config.source.command
        self._place = place
        self._limits = limits or Limits()

    async def execute(
        self, arguments: Mapping[str, Any], answers: Mapping[str, Any], ask: Ask
    ) -> Outcome:
        """Run once. Whatever the command does, it comes to an outcome."""
        secrets = [answer for answer in answers.values() if isinstance(answer, SecretAnswer)]
        calling = _Calling(self._config, self._place, "run", arguments, answers)
        name, clean = self._config.name, partial(redacted, secrets)
        try:
            ended = await calling.run(self._command, self._limits)
        except (ToolUnavailable, OSError, ValueError) as error:
            return Failed(f"{name} could not be started: {clean(_reason(error))}.")
        match ended.cut:
            case Cut.TIME:
                return Failed(
                    f"{name} was ended because it had run for {self._limits.seconds:g} seconds. "
                    "Retry only with less for it to do."
                )
            case Cut.OUTPUT:
                return Failed(
                    f"{name} was ended because its output is longer than {self._limits.stdout} "
                    "bytes. Retry only in a way that returns less."
                )
            case None:
                return outcome(name, _whole(ended, self._limits, secrets), clean)


def _whole(ended: Ended, limits: Limits, secrets: Sequence[SecretAnswer]) -> Ended:
    """Return it without the piece of a secret that stderr may begin with, where it was cut."""
    if len(ended.stderr) < limits.stderr:
        return ended
    said = ended.stderr.decode(errors="replace").lstrip("\N{REPLACEMENT CHARACTER}")
    return replace(ended, stderr=after_cut(secrets, said).encode())


async def shown(
    config: ToolConfig, place: Place, arguments: Mapping[str, Any], limits: Limits | None = None
) -> str | None:
    """Return what the tool's formatter makes of the arguments; None without one that works."""
    if config.formatter is None:
        return None
    calling = _Calling(config, place, "format_arguments", arguments, {})
    try:
        ended = await calling.run(config.formatter, limits or Limits(seconds=10.0))
    except (ToolUnavailable, OSError, ValueError):
        return None
    said = outcome(config.name, ended, partial(redacted, ()))
    return said.content if ended.cut is None and isinstance(said, Success) else None


@dataclass(frozen=True, slots=True)
class _Calling:
    config: ToolConfig
    place: Place
    action: Literal["run", "format_arguments"]
    arguments: Mapping[str, Any]
    answers: Mapping[str, Any]

    async def run(self, command: Command, limits: Limits) -> Ended:
        """Run the command. Raises ToolUnavailable, OSError or ValueError."""
        open_answers = {
            key: value for key, value in self.answers.items() if not isinstance(value, SecretAnswer)
        }
        words = argv(command, self._context(open_answers))
        complete = json.dumps(self._context(self._plain()), ensure_ascii=False)
        with private_file(complete) as path:
            told = {**self.place.environment, "JPWEB_CONTEXT": str(path)}
            return await run(words, self.place.root, told, limits)

    def _plain(self) -> dict[str, Any]:
        return {
            key: value.value if isinstance(value, SecretAnswer) else value
            for key, value in self.answers.items()
        }

    def _context(self, answers: Mapping[str, Any]) -> dict[str, Any]:
        source = self.config.source
        access = self.config.access
        return {
            "tool": {
                "name": source.tool if isinstance(source, Local) else self.config.name,
                "arguments": dict(self.arguments),
                "answers": dict(answers),
                "options": dict(self.config.options),
            },
            "context": {
                "action": self.action,
                "root": str(self.place.root),
                "access": None if access is None else dict(access),
                "workspace_id": self.place.workspace_id,
                "conversation_id": self.place.conversation_id,
            },
        }


def _reason(error: Exception) -> str:
    """Say what went wrong; of an OSError without its number."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)

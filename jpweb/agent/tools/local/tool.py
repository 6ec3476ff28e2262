"""A configured tool that is a subprocess."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import resource
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from jpweb.agent.config import LocalSource, ToolCommand, ToolConfig
from jpweb.agent.errors import ToolUnavailable
from jpweb.agent.ports import AskQuestion
from jpweb.agent.redaction import SecretAnswer, redact_cut_start, redact_value
from jpweb.agent.tool_outcome import Failed, NeedsInput, Success, ToolOutcome
from jpweb.agent.tools.local.access_rules import InvalidAccess, compile_access
from jpweb.agent.tools.local.output_parser import parse_outcome
from jpweb.agent.tools.local.private_file import open_private_file
from jpweb.agent.tools.local.subprocess_runner import (
    CutReason,
    ProcessLimits,
    ProcessResult,
    run_program,
)
from jpweb.agent.tools.local.templates import render_argv

_OWN_PREFIXES = ("JPWEB_", "DJANGO_", "DATABASE_URL", "REDIS_URL")
#: Variables from which PostgreSQL's library takes credentials where ``DATABASE_URL`` has none.
_DATABASE_CREDENTIALS = frozenset(
    {"PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE", "PGSSLCERT", "PGSSLKEY"}
)

#: The bytes of one argument on Linux: MAX_ARG_STRLEN of execve(2), without the final NUL.
_MAX_ARGUMENT_BYTES = 32 * resource.getpagesize() - 1


def make_environment(hidden_names: Iterable[str] = ()) -> dict[str, str]:
    """Return the environment that tools inherit: this process's without jpweb's own variables.

    ``hidden_names`` names further variables to exclude, the keys of providers above all.
    """
    excluded_names = _DATABASE_CREDENTIALS.union(hidden_names)
    return {
        name: value
        for name, value in os.environ.items()
        if name not in excluded_names and not name.startswith(_OWN_PREFIXES)
    }


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The folder and the conversation that tools run for.

    ``approved_targets`` has, by path, the targets outside the folder that access rules may name.
    """

    root: Path
    workspace_id: str
    conversation_id: str
    environment: Mapping[str, str] = field(default_factory=make_environment, repr=False)
    approved_targets: Mapping[str, str] = field(default_factory=dict)


class LocalTool:
    """Runs a command for each execution; a question in its output makes it run again."""

    def __init__(
        self, config: ToolConfig, context: ToolContext, limits: ProcessLimits | None = None
    ) -> None:
        if not isinstance(config.source, LocalSource):
            raise TypeError(f"{config.name} is not a local tool")
        self._config = config
        self._command = config.source.command
        self._context = context
        self._limits = limits or ProcessLimits()

    async def execute(
        self, arguments: Mapping[str, Any], answers: Mapping[str, Any], ask: AskQuestion
    ) -> ToolOutcome:
        """Run once. Every end of the command is an outcome."""
        secrets = [answer for answer in answers.values() if isinstance(answer, SecretAnswer)]
        name, redact = self._config.name, partial(redact_value, secrets)
        try:
            access = await asyncio.to_thread(
                compile_access,
                self._config.access,
                self._context.root,
                self._context.approved_targets,
            )
        except InvalidAccess as error:
            return Failed(f"invalid access policy for tool '{name}': {error}")
        call = _CommandCall(
            self._config, self._context, "run", arguments, answers, {"access": access}
        )
        try:
            result, omitted_ids = await call.run_command(self._command, self._limits)
        except (ToolUnavailable, OSError, ValueError) as error:
            return Failed(f"{name} could not be started: {redact(_describe_error(error))}.")
        match result.cut:
            case CutReason.TIME:
                return Failed(
                    f"{name} was ended because it had run for {self._limits.seconds:g} seconds. "
                    "Retry only with less for it to do."
                )
            case CutReason.OUTPUT:
                return Failed(
                    f"{name} was ended because its output is longer than {self._limits.stdout} "
                    "bytes. Retry only in a way that returns less."
                )
            case None:
                result = _redact_stderr(result, self._limits, secrets)
                return _explain_omission(name, parse_outcome(name, result, redact), omitted_ids)


def _explain_omission(name: str, outcome: ToolOutcome, omitted_ids: Collection[str]) -> ToolOutcome:
    """Return the outcome; a failure where it asks for an answer left out of the arguments."""
    if not isinstance(outcome, NeedsInput) or outcome.question.id not in omitted_ids:
        return outcome
    return Failed(
        f"{name} asked again for '{outcome.question.id}'. The answer was in the file that "
        f"JPWEB_CONTEXT names alone: it is too long for an argument, which may have "
        f"{_MAX_ARGUMENT_BYTES:,} bytes. The tool has to read that file. Retry only if a shorter "
        "answer will do."
    )


def _redact_stderr(
    result: ProcessResult, limits: ProcessLimits, secrets: Sequence[SecretAnswer]
) -> ProcessResult:
    """Return the result without the remainder of a secret at the beginning of a cut stderr."""
    if len(result.stderr) < limits.stderr:
        return result
    text = result.stderr.decode(errors="replace").lstrip("\N{REPLACEMENT CHARACTER}")
    return replace(result, stderr=redact_cut_start(secrets, text).encode())


async def format_arguments(
    config: ToolConfig,
    context: ToolContext,
    arguments: Mapping[str, Any],
    limits: ProcessLimits | None = None,
) -> str | None:
    """Return the arguments as the tool's formatter shows them; None without one that works."""
    if config.formatter is None:
        return None
    call = _CommandCall(config, context, "format_arguments", arguments, {}, {})
    try:
        result, _ = await call.run_command(config.formatter, limits or ProcessLimits(seconds=10.0))
    except (ToolUnavailable, OSError, ValueError):
        return None
    outcome = parse_outcome(config.name, result, partial(redact_value, ()))
    return outcome.content if result.cut is None and isinstance(outcome, Success) else None


@dataclass(frozen=True, slots=True)
class _CommandCall:
    config: ToolConfig
    tool_context: ToolContext
    action: Literal["run", "format_arguments"]
    arguments: Mapping[str, Any]
    answers: Mapping[str, Any]
    policy: Mapping[str, Any]

    async def run_command(
        self, command: ToolCommand, limits: ProcessLimits
    ) -> tuple[ProcessResult, Collection[str]]:
        """Run the command; return its result and the ids of answers too long for its arguments.

        Raises ToolUnavailable, OSError or ValueError.
        """
        answers = {
            key: value for key, value in self.answers.items() if not isinstance(value, SecretAnswer)
        }
        omitted_ids: list[str] = []
        context_json = json.dumps(self._make_context(self._get_plain_answers()), ensure_ascii=False)
        with open_private_file(context_json) as path:
            variables = {**self.tool_context.environment, "JPWEB_CONTEXT": str(path)}
            while True:
                argv = render_argv(command, self._make_context(answers))
                try:
                    result = await run_program(argv, self.tool_context.root, variables, limits)
                except OSError as error:
                    if error.errno != errno.E2BIG:
                        raise
                    if not answers:
                        raise ToolUnavailable(_describe_long_arguments(argv)) from error
                    omitted_ids.append(_pop_longest(answers))
                else:
                    return result, omitted_ids

    def _get_plain_answers(self) -> dict[str, Any]:
        return {
            key: value.value if isinstance(value, SecretAnswer) else value
            for key, value in self.answers.items()
        }

    def _make_context(self, answers: Mapping[str, Any]) -> dict[str, Any]:
        source = self.config.source
        return {
            "tool": {
                "name": source.tool if isinstance(source, LocalSource) else self.config.name,
                "arguments": dict(self.arguments),
                "answers": dict(answers),
                "options": dict(self.config.options),
            },
            "context": {
                "action": self.action,
                "root": str(self.tool_context.root),
                **self.policy,
                "workspace_id": self.tool_context.workspace_id,
                "conversation_id": self.tool_context.conversation_id,
            },
        }


def _pop_longest(answers: dict[str, Any]) -> str:
    """Remove the longest answer; return its id."""
    longest_id = max(
        answers, key=lambda key: _count_bytes(json.dumps(answers[key], ensure_ascii=False))
    )
    del answers[longest_id]
    return longest_id


def _describe_long_arguments(argv: Sequence[str]) -> str:
    longest = max(map(_count_bytes, argv))
    return (
        f"its arguments are too long. The longest has {longest:,} bytes; Linux takes "
        f"{_MAX_ARGUMENT_BYTES:,}. Retry only with less, or with a command that reads the file "
        "that JPWEB_CONTEXT names"
    )


def _count_bytes(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def _describe_error(error: Exception) -> str:
    """Return the error's text; of an OSError without its number."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)

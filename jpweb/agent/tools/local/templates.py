"""A command's templates, in minijinja as JP writes them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

import minijinja

from jpweb.agent.config import ToolCommand
from jpweb.agent.errors import ToolUnavailable

#: Fuel of minijinja (instructions): enough for any context, and ends an endless loop.
_MAX_TEMPLATE_STEPS = 1_000_000


def render_argv(command: ToolCommand, context: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the program and its arguments. Raises ToolUnavailable where a template is wrong."""
    environment = minijinja.Environment(finalizer=_format_value)
    environment.fuel = _MAX_TEMPLATE_STEPS
    try:
        parts = tuple(
            environment.render_str(template, "command", **context)
            for template in (command.program, *command.args)
        )
    except (minijinja.TemplateError, ValueError) as error:
        reason = (str(error).splitlines() or ["it cannot be rendered"])[0]
        raise ToolUnavailable(f"its command is wrong: {reason}") from error
    if not command.shell:
        return parts
    program, *args = parts
    return ("sh", "-c", f"{program} {shlex.join(args)}".strip())


def _format_value(value: Any) -> Any:
    """Return a value as JP's formatter writes it: JSON where it is neither text nor number."""
    if value is None or isinstance(value, bool | dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return NotImplemented

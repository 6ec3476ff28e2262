"""Filters of the outline in the sidebar."""

from __future__ import annotations

from django import template

from jpweb.stream.events import ToolCallRequest

register = template.Library()
#: Characters of the hint that distinguishes one call of a tool from another.
MAX_HINT_CHARS = 60
#: Names of the arguments that name the target of a call in many tools.
_HINT_ARGUMENTS = ("path", "file", "file_path", "command", "url", "pattern", "query")


@register.filter
def call_hint(call: ToolCallRequest) -> str:
    """Return the first line of the argument that distinguishes a call from others of its tool.

    The argument is one of ``_HINT_ARGUMENTS``, else the first that is a text or a number.
    """
    hint_values = [call.arguments[name] for name in _HINT_ARGUMENTS if name in call.arguments]
    for value in (*hint_values, *call.arguments.values()):
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            line = str(value)[: 4 * MAX_HINT_CHARS].strip().partition("\n")[0].strip()
            if line:
                return line if len(line) <= MAX_HINT_CHARS else f"{line[:MAX_HINT_CHARS]}…"
    return ""

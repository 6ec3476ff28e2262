"""Filters of the outline at the side."""

from __future__ import annotations

from django import template

from jpweb.stream.events import ToolCallRequest

register = template.Library()
#: Characters of an argument that tell one call of a tool from another.
HINT = 60
#: Arguments that say what is worked on, in many tools.
_TELLING = ("path", "file", "file_path", "command", "url", "pattern", "query")


@register.filter
def hint(call: ToolCallRequest) -> str:
    """Return what tells a call from others of its tool: the first line of an argument.

    Of one that says what is worked on, else of the first that is a text or a number.
    """
    named = [call.arguments[name] for name in _TELLING if name in call.arguments]
    for value in (*named, *call.arguments.values()):
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            line = str(value)[: 4 * HINT].strip().partition("\n")[0].strip()
            if line:
                return line if len(line) <= HINT else f"{line[:HINT]}…"
    return ""

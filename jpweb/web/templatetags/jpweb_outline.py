"""Filters of the hints that tell tool calls and their errors apart in one line."""

from __future__ import annotations

from django import template

from jpweb.runtime.rendering import json_values
from jpweb.stream.events import ToolCallRequest

register = template.Library()
#: Characters of the hint that distinguishes one call of a tool from another.
MAX_HINT_CHARS = 60
#: Names of the arguments that name the target of a call in many tools.
_HINT_ARGUMENTS = ("path", "file", "file_path", "command", "url", "pattern", "query")


#: Fields of a failed result in JSON that hold its message, the most telling first.
_MESSAGE_FIELDS = ("message", "error", "stderr", "detail", "reason")
#: Characters of a failed result in which its message is looked for.
_MAX_SCANNED_CHARS = 20_000


@register.filter
def call_hint(call: ToolCallRequest) -> str:
    """Return the first line of the argument that distinguishes a call from others of its tool.

    The argument is one of ``_HINT_ARGUMENTS``, else the first that is a text or a number, with
    its name.
    """
    names = [name for name in _HINT_ARGUMENTS if name in call.arguments]
    for name in (*names, *call.arguments):
        value = call.arguments[name]
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            line = _clip_line(str(value))
            if line:
                return line if name in _HINT_ARGUMENTS else f"{name[:MAX_HINT_CHARS]}={line}"
    return ""


@register.filter
def error_hint(content: str) -> str:
    """Return the first line of a failed result's message, "" where it says nothing."""
    fields = json_values.parse_json_object(content[:_MAX_SCANNED_CHARS]) or {}
    texts = [fields[name] for name in _MESSAGE_FIELDS if isinstance(fields.get(name), str)]
    lines = (_clip_line(text) for text in (*texts, "" if fields else content))
    return next((line for line in lines if line), "")


def _clip_line(text: str) -> str:
    line = text[: 4 * MAX_HINT_CHARS].strip().partition("\n")[0].strip()
    return line if len(line) <= MAX_HINT_CHARS else f"{line[:MAX_HINT_CHARS]}…"

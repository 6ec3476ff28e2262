"""Reads commands and the sources of tools."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from jpweb.agent.config.table_reader import TableReader
from jpweb.agent.config.types import BuiltinSource, LocalSource, McpSource, ToolCommand, ToolSource

_LINE_TEXT = "a command line whose quotes are closed"
_SOURCES_TEXT = '"builtin", "local", "local.<name>", "mcp.<server>" or "mcp.<server>.<tool>"'
#: Values of ``style.parameters`` that name a built-in style instead of a command.
_BUILTIN_STYLES = frozenset({"json", "function_call", "off"})


def read_command(table: TableReader, key: str) -> ToolCommand | None:
    """Return a command: a line, split as a shell splits it, or a table."""
    value = table.get(key)
    if value is None:
        return None
    if isinstance(value, str):
        return _split_line(table, key, value)
    if not isinstance(value, Mapping):
        raise table.make_error(key, f"{_LINE_TEXT}, or a table of program, args and shell")
    command_table = table.get_table(key)
    program = command_table.get_text("program")
    args = command_table.get_texts("args") or ()
    tool_command = ToolCommand(program or "", args, command_table.get_flag("shell") or False)
    if not tool_command.program or "\0" in tool_command.program:
        raise command_table.make_error("program", "the name or path of a program")
    if any("\0" in arg for arg in args):
        raise command_table.make_error("args", "a list of strings without NUL")
    command_table.note_unknown_keys()
    return tool_command


def read_formatter(tool: TableReader) -> ToolCommand | None:
    """Return the command of ``style.parameters``, where that is one."""
    style = tool.get("style")
    if not isinstance(style, Mapping) or style.get("parameters") in (*_BUILTIN_STYLES, None):
        return None
    return read_command(tool.get_table("style"), "parameters")


def read_source(tool: TableReader, name: str, builtin: bool) -> ToolSource:
    """Return the source of a tool; optional for a built-in."""
    value = tool.get_text("source")
    if value is None and builtin:
        return BuiltinSource()
    kind, *parts = (value or "").split(".", 2 if (value or "").startswith("mcp.") else 1)
    if value is None or not all(parts):
        raise tool.make_error("source", _SOURCES_TEXT)
    match kind, parts:
        case "builtin", _:
            return BuiltinSource()
        case "local", _:
            tool_command = read_command(tool, "command")
            if tool_command is None:
                raise tool.make_error("command", f"{_LINE_TEXT}, or a table: the tool is local")
            return LocalSource(parts[0] if parts else name, tool_command)
        case "mcp", [server, *tools]:
            return McpSource(server, tools[0] if tools else name)
        case _:
            raise tool.make_error("source", _SOURCES_TEXT)


def _split_line(table: TableReader, key: str, line: str) -> ToolCommand:
    try:
        words = shlex.split(line)
    except ValueError as error:  # an unclosed quote
        raise table.make_error(key, _LINE_TEXT) from error
    program, *args = words or [""]  # an empty program fails when the tool is run
    if "\0" in line:
        raise table.make_error(key, _LINE_TEXT)
    return ToolCommand(program, tuple(args))

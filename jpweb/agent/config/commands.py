"""Commands and the sources of tools, as they are written."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from jpweb.agent.config.tables import Table
from jpweb.agent.config.values import Builtin, Command, Local, Mcp, ToolSource

_LINE = "a command line whose quotes are closed"
_SOURCES = '"builtin", "local", "local.<name>", "mcp.<server>" or "mcp.<server>.<tool>"'
#: Words of ``style.parameters`` that jpweb decides about itself.
_STYLES = frozenset({"json", "function_call", "off"})


def command(table: Table, key: str) -> Command | None:
    """Return a command: a line, split as a shell splits it, or a table."""
    value = table.get(key)
    if value is None:
        return None
    if isinstance(value, str):
        return _split(table, key, value)
    if not isinstance(value, Mapping):
        raise table.refuse(key, f"{_LINE}, or a table of program, args and shell")
    inner = table.table(key)
    program = inner.text("program")
    args = inner.texts("args") or ()
    made = Command(program or "", args, inner.flag("shell") or False)
    if not made.program or "\0" in made.program:
        raise inner.refuse("program", "the name or path of a program")
    if any("\0" in arg for arg in args):
        raise inner.refuse("args", "a list of strings without NUL")
    inner.close()
    return made


def formatter(tool: Table) -> Command | None:
    """Return the command of ``style.parameters``, where that is one."""
    style = tool.get("style")
    if not isinstance(style, Mapping) or style.get("parameters") in (*_STYLES, None):
        return None
    return command(tool.table("style"), "parameters")


def source(tool: Table, name: str, builtin: bool) -> ToolSource:
    """Return where a tool comes from; a built-in need not say it."""
    value = tool.text("source")
    if value is None and builtin:
        return Builtin()
    kind, *rest = (value or "").split(".", 2 if (value or "").startswith("mcp.") else 1)
    if value is None or not all(rest):
        raise tool.refuse("source", _SOURCES)
    match kind, rest:
        case "builtin", _:
            return Builtin()
        case "local", _:
            found = command(tool, "command")
            if found is None:
                raise tool.refuse("command", f"{_LINE}, or a table: the tool is local")
            return Local(rest[0] if rest else name, found)
        case "mcp", [server, *tools]:
            return Mcp(server, tools[0] if tools else name)
        case _:
            raise tool.refuse("source", _SOURCES)


def _split(table: Table, key: str, line: str) -> Command:
    try:
        program, *args = shlex.split(line)
    except ValueError as error:  # open quotes, or nothing at all
        raise table.refuse(key, _LINE) from error
    if not program or "\0" in line:
        raise table.refuse(key, _LINE)
    return Command(program, tuple(args))

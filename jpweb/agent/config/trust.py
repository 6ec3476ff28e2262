"""What a configuration makes run or reach, as a person has to see it before it may.

A workspace's files come from whoever can write to the repository. So nothing that they name
runs, and no key is sent anywhere, on their word alone.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Literal

from jpweb.agent.config import gates
from jpweb.agent.config.gates import SecondModel
from jpweb.agent.config.spelling import masked, visible
from jpweb.agent.config.values import (
    Builtin,
    Command,
    Configuration,
    Local,
    Mcp,
    McpServer,
    ProviderConfig,
    ToolConfig,
)


class WantedKind(StrEnum):
    """What can be trusted."""

    TOOL = "tool"
    FORMATTER = "formatter"
    SERVER = "server"
    PROVIDER = "provider"


#: Stands between what runs and its gates: no line of either is empty.
_APART = "\n\n"


@dataclass(frozen=True, slots=True)
class Wanted:
    """One thing to trust: what ``runs``, and the ``gates`` of each tool that it brings.

    Nothing runs where that is jpweb's own, and only the gates of a built-in are to be trusted.
    The ``fingerprint`` covers it all, and what is not shown besides.
    """

    kind: WantedKind
    name: str
    runs: str
    fingerprint: str
    gates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """What a person reads, as it is kept for the next difference."""
        several = self.kind is WantedKind.SERVER
        lines = (
            f"tool {visible(tool)}, {line}" if several else line
            for tool, lines in self.gates.items()
            for line in lines
        )
        return self.runs + _APART + "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a difference."""

    change: Literal["same", "removed", "added"]
    text: str


#: Where each provider's key belongs by itself; anything else is somebody's wish.
KNOWN: Mapping[str, tuple[str, str]] = {
    "anthropic": ("https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    "cerebras": ("https://api.cerebras.ai", "CEREBRAS_API_KEY"),
    "deepseek": ("https://api.deepseek.com", "DEEPSEEK_API_KEY"),
    "google": ("https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY"),
    "llamacpp": ("http://127.0.0.1:8080", ""),
    "ollama": ("http://localhost:11434", ""),
    "openai": ("https://api.openai.com", "OPENAI_API_KEY"),
    "openrouter": ("https://openrouter.ai", "OPENROUTER_API_KEY"),
}


#: So much of a fingerprint is of everything; the rest is of what is not shown.
_WHOLE = 48


def wanted(
    configuration: Configuration,
    files: Configuration | None = None,
    builtins: Sequence[ToolConfig] = (),
) -> list[Wanted]:
    """Return everything that needs trust, in the order of the configuration.

    ``files`` is the configuration whose gates count: that without what an owner's own overrides
    say of them. Built-ins are among them where their gates are opened.
    """
    files = configuration if files is None else files
    said, second = files.tools, SecondModel.of(files)
    own = {tool.name: tool for tool in builtins}
    found: list[Wanted] = []
    for name, tool in configuration.tools.items():
        found.extend(_of_tool(tool, _Gated(said.get(name, tool), second), own.get(name)))
    gated = [_Gated(said.get(name, tool), second) for name, tool in configuration.tools.items()]
    found.extend(_server(server, gated) for server in configuration.servers.values())
    for name, provider in configuration.providers.items():
        if not _usual(name, provider):
            found.append(_provider(name, provider))
    return found


def definition(tool: ToolConfig, server: McpServer | None) -> str:
    """Return the JSON text of everything that decides what a call with given arguments does.

    A permission holds for a tool as it was: two tools with equal texts run the same. The text may
    hold keys, of ``server`` above all, so that only a keyed hash of it may be kept.
    """
    content = {
        "source": [type(tool.source).__name__, asdict(tool.source)],
        "server": None if server is None else asdict(server),
        "parameters": tool.parameters,
        "options": tool.options,
        "access": tool.access,
    }
    return json.dumps(content, sort_keys=True)


def unseen(fingerprint: str) -> str:
    """Return the part of a fingerprint that is of what is not shown."""
    return fingerprint[_WHOLE:]


def gates_of(shown: str) -> str:
    """Return the part of what was shown that is of gates."""
    return shown.partition(_APART)[2]


def difference(before: str, now: str, hidden: bool = False) -> list[Line]:
    """Return what has changed, line by line; ``hidden`` where that is more than is shown.

    Gates are in it where they have changed.
    """
    lines = _difference(before.partition(_APART)[0], now.partition(_APART)[0])
    if gates_of(before) != gates_of(now):
        lines += _difference(gates_of(before), gates_of(now))
    if hidden:
        lines.append(Line("added", "(a value that is not shown has changed)"))
    return lines


def _difference(before: str, now: str) -> list[Line]:
    old, new = before.splitlines(), now.splitlines()
    lines: list[Line] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            lines.extend(Line("same", text) for text in old[a:b])
        else:
            lines.extend(Line("removed", text) for text in old[a:b])
            lines.extend(Line("added", text) for text in new[c:d])
    return lines


@dataclass(frozen=True, slots=True)
class _Gated:
    """A tool with the gates that need trust, and the second model that may pass them."""

    tool: ToolConfig
    second: SecondModel

    def lines(self) -> tuple[str, ...]:
        there = _own_name(self.tool)
        named = () if there in (None, self.tool.name) else (("name on the server", there or ""),)
        shape = () if there is None else _parameters(self.tool.parameters)
        said = (*named, *gates.lines(self.tool, self.second), *shape)
        return tuple(_spelled([line]) for line in said)

    def state(self) -> list[Any]:
        # A local tool's parameters stand with its command, a built-in's belong to jpweb.
        shape = self.tool.parameters if isinstance(self.tool.source, Mcp) else None
        return [_own_name(self.tool), gates.state(self.tool, self.second), shape]

    def hidden(self) -> dict[str, Any]:
        return gates.hidden(self.tool, self.second)


def _of_tool(tool: ToolConfig, gated: _Gated, own: ToolConfig | None) -> Iterator[Wanted]:
    # What a command is handed decides what it does, as much as its arguments do; and defaults
    # are arguments that nobody wrote.
    handed: dict[str, Any] = {"options": tool.options, "access": tool.access}
    lines = (
        *((key, json.dumps(value, sort_keys=True)) for key, value in handed.items() if value),
        *_parameters(tool.parameters),
    )
    handed["parameters"] = tool.parameters
    if isinstance(tool.source, Local):
        told = (
            () if tool.source.tool == tool.name else (("called with the name", tool.source.tool),)
        )
        content = {"command": asdict(tool.source.command), "tool": tool.source.tool, **handed}
        shown = (*_command(tool.source.command), *told, *lines)
        yield _wanted(WantedKind.TOOL, tool.name, shown, content, [gated])
    elif isinstance(tool.source, Builtin) and own is not None and gates.opened(gated.tool, own):
        yield _wanted(WantedKind.TOOL, tool.name, (), {}, [gated])
    if tool.formatter is not None:
        first = gated.tool.formats_first
        content = {"command": asdict(tool.formatter), **handed, "first": first}
        unasked = (("runs", "before the call is approved"),) if first else ()
        shown = (*_command(tool.formatter), *unasked, *lines)
        yield _wanted(WantedKind.FORMATTER, tool.name, shown, content)


def _parameters(schema: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return a line for each parameter: its schema as JSON, defaults included."""
    required = schema.get("required", ())
    return tuple(
        (
            f"{'required ' if name in required else ''}parameter {visible(name)}",
            json.dumps(part, sort_keys=True, ensure_ascii=False),
        )
        for name, part in schema.get("properties", {}).items()
    )


def _command(command: Command) -> tuple[tuple[str, str], ...]:
    shell = (("through a shell", "yes: sh -c"),) if command.shell else ()
    return (("program", command.program), *_arguments(command.args), *shell)


def _arguments(arguments: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(f"argument {number}", each) for number, each in enumerate(arguments, 1)]


def _server(server: McpServer, tools: Sequence[_Gated]) -> Wanted:
    lines = [("address", masked(server.url))] if server.url is not None else []
    lines += [("program", server.command)] if server.command is not None else []
    lines += _arguments(server.arguments)
    lines += [("gets environment variable", name) for name in server.variables]
    lines += [("SHA-256 of the program", server.checksum)] if server.checksum else []
    # A header may be a key: neither its value nor a hash of it, which could be tried out.
    lines += [(f"header {visible(name)}", "(set, not shown)") for name in server.headers]
    content, secret = asdict(server), {"url": server.url, "headers": dict(server.headers)}
    brought = [each for each in tools if _server_name(each.tool) == server.name]
    return _wanted(WantedKind.SERVER, server.name, lines, content, brought, secret)


def _usual(name: str, provider: ProviderConfig) -> bool:
    address, variable = KNOWN.get(name, (None, None))
    return (provider.base_url is None or provider.base_url.rstrip("/") == address) and (
        provider.api_key_env is None or provider.api_key_env == variable
    )


def _provider(name: str, provider: ProviderConfig) -> Wanted:
    usual = KNOWN.get(name, ("", ""))
    lines = (
        ("requests and key go to", masked(provider.base_url or usual[0]) or "the default address"),
        ("key from environment variable", provider.api_key_env or usual[1] or "none"),
    )
    content = {"base_url": provider.base_url, "api_key_env": provider.api_key_env}
    return _wanted(WantedKind.PROVIDER, name, lines, content, secret={"url": provider.base_url})


def _wanted(
    kind: WantedKind,
    name: str,
    lines: Iterable[tuple[str, str]],
    content: Mapping[str, Any],
    tools: Sequence[_Gated] = (),
    secret: Mapping[str, Any] | None = None,
) -> Wanted:
    whole = {"kind": kind.value, "name": name, "content": content}
    whole["tools"] = {each.tool.name: each.state() for each in tools}
    unseen = [secret, {each.tool.name: each.hidden() for each in tools}]
    return Wanted(
        kind,
        name,
        _spelled(lines),
        _digest(whole)[:_WHOLE] + _digest(unseen)[_WHOLE:],
        {each.tool.name: each.lines() for each in tools},
    )


def _server_name(tool: ToolConfig) -> str | None:
    return tool.source.server if isinstance(tool.source, Mcp) else None


def _own_name(tool: ToolConfig) -> str | None:
    """Return what a server knows the tool by."""
    return tool.source.tool if isinstance(tool.source, Mcp) else None


def _spelled(lines: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"{label}: {_bounded(visible(text))}" for label, text in lines)


def _bounded(text: str) -> str:
    """Return the text, in quotes where one could not see where it begins and ends."""
    return text if text and text == text.strip() and text[0] != '"' else f'"{text}"'


def _digest(content: Any) -> str:
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()

"""What a configuration makes run or reach, as a person has to see it before it may.

A workspace's files come from whoever can write to the repository. So nothing that they name
runs, and no key is sent anywhere, on their word alone.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Literal

from jpweb.agent.config.spelling import visible
from jpweb.agent.config.values import (
    Command,
    Configuration,
    Local,
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


@dataclass(frozen=True, slots=True)
class Wanted:
    """One thing to trust. ``shown`` is what a person reads; the ``fingerprint`` covers it all."""

    kind: WantedKind
    name: str
    shown: str
    fingerprint: str


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


def wanted(configuration: Configuration) -> list[Wanted]:
    """Return everything that needs trust, in the order of the configuration."""
    found: list[Wanted] = []
    for tool in configuration.tools.values():
        found.extend(_of_tool(tool))
    found.extend(_server(server) for server in configuration.servers.values())
    for name, provider in configuration.providers.items():
        if not _usual(name, provider):
            found.append(_provider(name, provider))
    return found


def difference(before: str, now: str) -> list[Line]:
    """Return what has changed, line by line."""
    old, new = before.splitlines(), now.splitlines()
    lines: list[Line] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            lines.extend(Line("same", text) for text in old[a:b])
        else:
            lines.extend(Line("removed", text) for text in old[a:b])
            lines.extend(Line("added", text) for text in new[c:d])
    return lines


def _of_tool(tool: ToolConfig) -> Iterator[Wanted]:
    # What a command is handed decides what it does, as much as its arguments do.
    handed = {"options": tool.options, "access": tool.access}
    lines = tuple(
        (key, json.dumps(value, sort_keys=True)) for key, value in handed.items() if value
    )
    if isinstance(tool.source, Local):
        told = () if tool.source.tool == tool.name else (("told its name is", tool.source.tool),)
        content = {"command": asdict(tool.source.command), "tool": tool.source.tool, **handed}
        shown = (*_command(tool.source.command), *told, *lines)
        yield _wanted(WantedKind.TOOL, tool.name, shown, content)
    if tool.formatter is not None:
        content = {"command": asdict(tool.formatter), **handed}
        shown = (*_command(tool.formatter), *lines)
        yield _wanted(WantedKind.FORMATTER, tool.name, shown, content)


def _command(command: Command) -> tuple[tuple[str, str], ...]:
    shell = (("through a shell", "yes: sh -c"),) if command.shell else ()
    return (("program", command.program), *_arguments(command.args), *shell)


def _arguments(arguments: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(f"argument {number}", each) for number, each in enumerate(arguments, 1)]


def _server(server: McpServer) -> Wanted:
    lines = [("address", server.url)] if server.url is not None else []
    lines += [("program", server.command)] if server.command is not None else []
    lines += _arguments(server.arguments)
    lines += [("gets environment variable", name) for name in server.variables]
    lines += [("SHA-256 of the program", server.checksum)] if server.checksum else []
    # A header may be a key: its value is not shown, and still a change of it is seen.
    lines += [
        (f"header {visible(name)}", f"(not shown, {_digest(value)[:12]})")
        for name, value in server.headers.items()
    ]
    return _wanted(WantedKind.SERVER, server.name, tuple(lines), asdict(server))


def _usual(name: str, provider: ProviderConfig) -> bool:
    address, variable = KNOWN.get(name, (None, None))
    return (provider.base_url is None or provider.base_url.rstrip("/") == address) and (
        provider.api_key_env is None or provider.api_key_env == variable
    )


def _provider(name: str, provider: ProviderConfig) -> Wanted:
    usual = KNOWN.get(name, ("", ""))
    lines = (
        ("requests and key go to", provider.base_url or usual[0] or "its usual address"),
        ("key from environment variable", provider.api_key_env or usual[1] or "none"),
    )
    content = {"base_url": provider.base_url, "api_key_env": provider.api_key_env}
    return _wanted(WantedKind.PROVIDER, name, lines, content)


def _wanted(
    kind: WantedKind, name: str, lines: tuple[tuple[str, str], ...], content: Mapping[str, Any]
) -> Wanted:
    shown = "\n".join(f"{label}: {_bounded(visible(text))}" for label, text in lines)
    whole = {"kind": kind.value, "name": name, "content": content}
    return Wanted(kind, name, shown, _digest(json.dumps(whole, sort_keys=True)))


def _bounded(text: str) -> str:
    """Return the text, in quotes where one could not see where it begins and ends."""
    return text if text and text == text.strip() and text[0] != '"' else f'"{text}"'


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()

"""Trust: the commands and addresses of a configuration that a person has to approve.

A workspace's files come from everyone with write access to the repository. So no command of them
runs, and no key is sent to an address of theirs, before a person trusts it.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Literal

from jpweb.agent.config import approval_policy
from jpweb.agent.config.approval_policy import SecondModel
from jpweb.agent.config.display import escape_invisible, mask_url
from jpweb.agent.config.types import (
    CAPABILITIES,
    DEFAULT_START_SECONDS,
    BuiltinSource,
    Configuration,
    LocalSource,
    McpServer,
    McpSource,
    ProviderConfig,
    ToolCommand,
    ToolConfig,
)
from jpweb.agent.provider_info import get_provider_info


class TrustItemKind(StrEnum):
    """The kinds of things that can be trusted."""

    TOOL = "tool"
    FORMATTER = "formatter"
    SERVER = "server"
    PROVIDER = "provider"


#: Separates ``runs`` from the gates in a displayed text; neither has an empty line.
_SECTION_SEPARATOR = "\n\n"
#: Begins the line of a provider's displayed text that names the variable of its key.
_KEY_LABEL = "key from environment variable"


@dataclass(frozen=True, slots=True)
class TrustItem:
    """One thing to trust: the command or address ``runs``, and the ``gates`` of each of its tools.

    ``runs`` is empty for jpweb's own code: only the gates of a built-in are to be trusted.
    The ``fingerprint`` covers all of it, and the state that is not shown.
    """

    kind: TrustItemKind
    name: str
    runs: str
    fingerprint: str
    gates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def display_text(self) -> str:
        """The text for people, as it is saved for the next difference."""
        is_server = self.kind is TrustItemKind.SERVER
        lines = (
            f"tool {escape_invisible(tool)}, {line}" if is_server else line
            for tool, lines in self.gates.items()
            for line in lines
        )
        return self.runs + _SECTION_SEPARATOR + "\n".join(lines)


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a difference."""

    change: Literal["same", "removed", "added"]
    text: str


#: Digits of a fingerprint that hash the shown state; the rest hash the hidden state.
_SHOWN_DIGEST_CHARS = 48


def list_trust_items(
    configuration: Configuration,
    files: Configuration | None = None,
    builtins: Sequence[ToolConfig] = (),
) -> list[TrustItem]:
    """Return everything that needs trust, in the order of the configuration.

    ``files`` is the configuration whose gates count: without the gates of an owner's own overrides.
    Built-ins are included where their gates are opened.
    """
    files = configuration if files is None else files
    file_tools, second_model = files.tools, SecondModel.from_configuration(files)
    builtins_by_name = {tool.name: tool for tool in builtins}
    items: list[TrustItem] = []
    for name, tool in configuration.tools.items():
        items.extend(
            _list_tool_items(
                tool,
                _GatedTool(file_tools.get(name, tool), second_model),
                builtins_by_name.get(name),
            )
        )
    tools_by_server: dict[str | None, list[_GatedTool]] = {}
    for name, tool in configuration.tools.items():
        gated_tool = _GatedTool(file_tools.get(name, tool), second_model)
        tools_by_server.setdefault(_get_server_name(gated_tool.tool), []).append(gated_tool)
    items.extend(
        _make_server_item(server, tools_by_server.get(server.name, ()))
        for server in configuration.servers.values()
    )
    for name, provider in configuration.providers.items():
        if not _is_usual(name, provider):
            items.append(_make_provider_item(name, provider))
    return items


def make_definition(tool: ToolConfig, server: McpServer | None) -> str:
    """Return the JSON text of everything that decides the effect of a call with given arguments.

    A permission holds for a tool with this definition: two tools with equal texts run the same. The
    text may hold keys, of ``server`` above all, so that only a keyed hash of it may be saved.
    """
    content = {
        "source": [tool.source.KIND, asdict(tool.source)],
        "server": None if server is None else asdict(server),
        "parameters": tool.parameters,
        "options": tool.options,
        "access": _list_access(tool),
    }
    return json.dumps(content, sort_keys=True)


def cut_hidden_fingerprint(fingerprint: str) -> str:
    """Return the part of a fingerprint that covers the state that is not shown."""
    return fingerprint[_SHOWN_DIGEST_CHARS:]


def extract_key_variables(text: str) -> list[str]:
    """Return the environment variables of keys that the displayed text of a provider names."""
    label = f"{_KEY_LABEL}: "
    return [line.removeprefix(label) for line in text.splitlines() if line.startswith(label)]


def extract_gates(text: str) -> str:
    """Return the part of a displayed text that describes gates."""
    return text.partition(_SECTION_SEPARATOR)[2]


def diff_texts(old_text: str, new_text: str, has_hidden_change: bool = False) -> list[DiffLine]:
    """Return the difference line by line; ``has_hidden_change`` adds a line about hidden state.

    Gates are included where they have changed.
    """
    lines = _diff_lines(
        old_text.partition(_SECTION_SEPARATOR)[0], new_text.partition(_SECTION_SEPARATOR)[0]
    )
    if extract_gates(old_text) != extract_gates(new_text):
        lines += _diff_lines(extract_gates(old_text), extract_gates(new_text))
    if has_hidden_change:
        lines.append(DiffLine("added", "(a value that is not shown has changed)"))
    return lines


def _diff_lines(old_text: str, new_text: str) -> list[DiffLine]:
    old_lines, new_lines = old_text.splitlines(), new_text.splitlines()
    lines: list[DiffLine] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(
        None, old_lines, new_lines, autojunk=False
    ).get_opcodes():
        if tag == "equal":
            lines.extend(DiffLine("same", text) for text in old_lines[a:b])
        else:
            lines.extend(DiffLine("removed", text) for text in old_lines[a:b])
            lines.extend(DiffLine("added", text) for text in new_lines[c:d])
    return lines


@dataclass(frozen=True, slots=True)
class _GatedTool:
    """A tool with the gates that need trust, and the second model that may answer for a person."""

    tool: ToolConfig
    second: SecondModel

    def describe_gates(self) -> tuple[str, ...]:
        remote_name = _get_remote_name(self.tool)
        name_lines = (
            ()
            if remote_name in (None, self.tool.name)
            else (("name on the server", remote_name or ""),)
        )
        parameter_lines = () if remote_name is None else _list_parameter_lines(self.tool.parameters)
        labeled_lines = (
            *name_lines,
            *approval_policy.describe_gates(self.tool, self.second),
            *parameter_lines,
        )
        return tuple(_format_lines([line]) for line in labeled_lines)

    def collect_state(self) -> list[Any]:
        # A local tool's parameters are part of its command's item, a built-in's are jpweb's own.
        parameters = self.tool.parameters if isinstance(self.tool.source, McpSource) else None
        return [
            _get_remote_name(self.tool),
            approval_policy.collect_gates(self.tool, self.second),
            parameters,
        ]

    def collect_hidden(self) -> dict[str, Any]:
        return approval_policy.collect_hidden(self.tool, self.second)


def _list_tool_items(
    tool: ToolConfig, gated: _GatedTool, builtin: ToolConfig | None
) -> Iterator[TrustItem]:
    # Options, access and default arguments decide the effect of a command as its arguments do.
    inputs: dict[str, Any] = {"options": tool.options, "access": _list_access(tool)}
    option_lines = [("options", json.dumps(tool.options, sort_keys=True))] if tool.options else []
    lines = (*option_lines, *_list_access_lines(tool), *_list_parameter_lines(tool.parameters))
    inputs["parameters"] = tool.parameters
    if isinstance(tool.source, LocalSource):
        name_lines = (
            () if tool.source.tool == tool.name else (("called with the name", tool.source.tool),)
        )
        content = {"command": asdict(tool.source.command), "tool": tool.source.tool, **inputs}
        display_lines = (*_list_command_lines(tool.source.command), *name_lines, *lines)
        yield _make_item(TrustItemKind.TOOL, tool.name, display_lines, content, [gated])
    elif (
        isinstance(tool.source, BuiltinSource)
        and builtin is not None
        and approval_policy.is_opened(gated.tool, builtin)
    ):
        yield _make_item(TrustItemKind.TOOL, tool.name, (), {}, [gated])
    if tool.formatter is not None:
        is_formatted_first = gated.tool.can_format_first
        content = {"command": asdict(tool.formatter), **inputs, "first": is_formatted_first}
        timing_lines = (("runs", "before the call is approved"),) if is_formatted_first else ()
        display_lines = (*_list_command_lines(tool.formatter), *timing_lines, *lines)
        yield _make_item(TrustItemKind.FORMATTER, tool.name, display_lines, content)


def _list_access(tool: ToolConfig) -> list[dict[str, Any]] | None:
    return None if tool.access is None else [rule._asdict() for rule in tool.access]


def _list_access_lines(tool: ToolConfig) -> list[tuple[str, str]]:
    """Return a line for each access rule: the rights that it grants and refuses below its path."""
    lines = []
    for rule in tool.access or ():
        grants = [name for name in CAPABILITIES if getattr(rule, name)]
        refusals = [f"no {name}" for name in CAPABILITIES if getattr(rule, name) is False]
        label = f"may access{' outside the workspace' if rule.external else ''}"
        lines.append((label, f"{rule.path}: {', '.join([*grants, *refusals]) or 'nothing'}"))
    return lines


def _list_parameter_lines(schema: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return a line for each parameter: its schema as JSON, defaults included."""
    required_names = frozenset(schema.get("required", ()))
    return tuple(
        (
            f"{'required ' if name in required_names else ''}parameter {escape_invisible(name)}",
            json.dumps(part, sort_keys=True, ensure_ascii=False),
        )
        for name, part in schema.get("properties", {}).items()
    )


def _list_command_lines(command: ToolCommand) -> tuple[tuple[str, str], ...]:
    shell = (("through a shell", "yes: sh -c"),) if command.shell else ()
    return (("program", command.program), *_list_argument_lines(command.args), *shell)


def _list_argument_lines(arguments: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(f"argument {number}", argument) for number, argument in enumerate(arguments, 1)]


def _make_server_item(server: McpServer, tools: Sequence[_GatedTool]) -> TrustItem:
    lines = [("address", mask_url(server.url))] if server.url is not None else []
    lines += [("program", server.command)] if server.command is not None else []
    lines += _list_argument_lines(server.arguments)
    lines += [("gets environment variable", name) for name in server.variables]
    if server.checksum:
        lines += [(f"{server.checksum_algorithm.title} of the program", server.checksum)]
    # A header may be a key: no value is shown, and no hash, which can be guessed offline.
    lines += [(f"header {escape_invisible(name)}", "(set, not shown)") for name in server.headers]
    if server.optional:
        lines += [("optional", "a turn goes on without it")]
    if server.start_seconds != DEFAULT_START_SECONDS:
        limit = f"{server.start_seconds:g} seconds" if server.start_seconds else "no limit"
        lines += [("time to start", limit)]
    content, secret = asdict(server), {"url": server.url, "headers": dict(server.headers)}
    return _make_item(TrustItemKind.SERVER, server.name, lines, content, tools, secret)


def _is_usual(name: str, provider: ProviderConfig) -> bool:
    info = get_provider_info(name)
    return (provider.base_url is None or provider.base_url.rstrip("/") == info.base_url) and (
        provider.api_key_env is None or provider.api_key_env == info.api_key_env
    )


def _make_provider_item(name: str, provider: ProviderConfig) -> TrustItem:
    info = get_provider_info(name)
    lines = (
        (
            "requests and key go to",
            mask_url(provider.base_url or info.base_url) or "the default address",
        ),
        (_KEY_LABEL, provider.api_key_env or info.api_key_env or "none"),
    )
    content = {"base_url": provider.base_url, "api_key_env": provider.api_key_env}
    return _make_item(
        TrustItemKind.PROVIDER, name, lines, content, secret={"url": provider.base_url}
    )


def _make_item(
    kind: TrustItemKind,
    name: str,
    lines: Iterable[tuple[str, str]],
    content: Mapping[str, Any],
    tools: Sequence[_GatedTool] = (),
    secret: Mapping[str, Any] | None = None,
) -> TrustItem:
    shown_state = {"kind": kind.value, "name": name, "content": content}
    shown_state["tools"] = {
        gated_tool.tool.name: gated_tool.collect_state() for gated_tool in tools
    }
    hidden_state = [
        secret,
        {gated_tool.tool.name: gated_tool.collect_hidden() for gated_tool in tools},
    ]
    return TrustItem(
        kind,
        name,
        _format_lines(lines),
        _hash_content(shown_state)[:_SHOWN_DIGEST_CHARS]
        + _hash_content(hidden_state)[_SHOWN_DIGEST_CHARS:],
        {gated_tool.tool.name: gated_tool.describe_gates() for gated_tool in tools},
    )


def _get_server_name(tool: ToolConfig) -> str | None:
    return tool.source.server if isinstance(tool.source, McpSource) else None


def _get_remote_name(tool: ToolConfig) -> str | None:
    """Return the server's own name of a tool."""
    return tool.source.tool if isinstance(tool.source, McpSource) else None


def _format_lines(lines: Iterable[tuple[str, str]]) -> str:
    return "\n".join(
        f"{label}: {_quote_if_needed(escape_invisible(text))}" for label, text in lines
    )


def _quote_if_needed(text: str) -> str:
    """Return the text, in quotes where its beginning and end would not be visible."""
    return text if text and text == text.strip() and text[0] != '"' else f'"{text}"'


def _hash_content(content: Any) -> str:
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()

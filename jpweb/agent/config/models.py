"""Models, providers and MCP servers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jpweb.agent.config.parameters import parameters as checked
from jpweb.agent.config.tables import Table, one_of
from jpweb.agent.config.values import InquiryConfig, McpServer, ModelConfig, ProviderConfig
from jpweb.agent.errors import BadConfiguration

Aliases = Mapping[str, ModelConfig]

NAME_LENGTH = 100
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
#: What jpweb itself is set up with: its secrets, and where its data is.
_OURS = re.compile(r"(JPWEB|DJANGO)_.*|DATABASE_URL|REDIS_URL", re.ASCII | re.IGNORECASE)
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", re.ASCII)
_SHA256 = re.compile(r"[0-9A-Fa-f]{64}", re.ASCII)
_TRANSPORTS = ("stdio", "http")
_BYTES = 2**40
#: Keys that JP has and jpweb does not use.
_PROVIDER_UNUSED = ("app_referrer", "base_url_env", "chain_on_max_tokens")


def aliases(root: Table) -> dict[str, ModelConfig]:
    """Return ``providers.llm.aliases``."""
    table = root.table("providers").table("llm").table("aliases")
    return {name: _id(table, name, {}) for name in table.values if table.get(name) is not None}


def model(table: Table, known: Aliases, inherited: ModelConfig | None) -> ModelConfig | None:
    """Return a model; parameters alone are those of the inherited one. None says nothing."""
    parameters = checked(table)
    found = _id(table, "id", known) if table.get("id") is not None else None
    table.close()
    if found is not None:
        return ModelConfig(found.provider, found.name, parameters or {})
    if parameters is None or inherited is None:
        return None
    whole = {**inherited.parameters, **parameters}
    return ModelConfig(inherited.provider, inherited.name, whole)


def inquiry(table: Table, known: Aliases, main: ModelConfig, *, unlimited: bool) -> InquiryConfig:
    """Return how an assistant is asked. Zero bytes are ``unlimited``, or else inherited."""
    request = table.table("request")
    limit = request.whole("max_response_bytes", _BYTES)
    request.close("max_retries", "base_backoff_ms", "max_backoff_secs", "cache")
    prompt = table.get("system_prompt")
    if isinstance(prompt, Mapping):
        prompt = table.table("system_prompt").text("value")
    elif prompt is not None:
        prompt = table.text("system_prompt")
    made = InquiryConfig(
        model=model(table.table("model"), known, main),
        system_prompt=prompt,
        max_response_bytes=limit if limit or unlimited else None,
    )
    table.close("name", "system_prompt_sections", "instructions", "tool_choice")
    return made


def providers(root: Table) -> dict[str, ProviderConfig]:
    """Return ``providers.llm``."""
    table = root.table("providers").table("llm")
    return {
        name: _provider(table.table(name))
        for name in table.values
        if name != "aliases" and _named(table, name)
    }


def servers(root: Table) -> dict[str, McpServer]:
    """Return ``providers.mcp``."""
    table = root.table("providers").table("mcp")
    return {name: _server(name, inner) for name, inner in table.tables() if _named(table, name)}


def _named(table: Table, name: str) -> bool:
    if not name or len(name) > NAME_LENGTH:
        raise BadConfiguration(
            f"{table.place(name)} must have a name of 1 to {NAME_LENGTH} characters."
        )
    return True


def _id(table: Table, key: str, known: Aliases) -> ModelConfig:
    value = table.get(key)
    if isinstance(value, Mapping):
        inner = table.table(key)
        made = ModelConfig(inner.text("provider") or "", inner.text("name") or "")
        for part in ("provider", "name"):
            if not inner.text(part):
                raise inner.refuse(part, "a name")
        inner.close()
        return made
    if isinstance(value, str) and value in known:
        return known[value]
    provider, _, name = value.partition("/") if isinstance(value, str) else ("", "", "")
    if not (provider and name):
        among = f", or an alias: {one_of(*sorted(known)[:20])}" if known else ""
        raise table.refuse(key, f'"provider/name"{among}')
    return ModelConfig(provider, name)


def _provider(table: Table) -> ProviderConfig:
    url = _url(table, "base_url")
    variable = table.text("api_key_env")
    if variable is not None and not _VARIABLE.fullmatch(variable):
        raise table.refuse("api_key_env", "the name of an environment variable")
    _not_ours(table, "api_key_env", variable or "")
    made = ProviderConfig(url, variable, table.text("app_name"), table.texts("beta_headers") or ())
    table.close(*_PROVIDER_UNUSED)
    return made


def _server(name: str, table: Table) -> McpServer:
    command, url = table.text("command"), _url(table, "url")
    kind = table.text("type") or ("stdio" if url is None else "http")
    if kind not in _TRANSPORTS:
        raise table.refuse("type", one_of(*_TRANSPORTS))
    if kind == "http" and url is None:
        raise table.refuse("url", "an address that begins with http:// or https://")
    if kind == "stdio" and (not command or "\0" in command):
        raise table.refuse("command", "the name or path of a program")
    arguments, variables = table.texts("arguments") or (), table.texts("variables") or ()
    if any("\0" in argument for argument in arguments):
        raise table.refuse("arguments", "a list of strings without NUL")
    if not all(_VARIABLE.fullmatch(each) for each in variables):
        raise table.refuse("variables", "a list of names of environment variables")
    _not_ours(table, "variables", *variables)
    checksum, headers = _checksum(table), _headers(table)
    table.close()
    if kind == "http":
        return McpServer(name, url=url, headers=headers)
    return McpServer(name, command, arguments, variables, checksum)


def _not_ours(table: Table, key: str, *names: str) -> None:
    """Refuse names of variables that hold jpweb's own secrets; no configuration may have them."""
    for name in names:
        if _OURS.fullmatch(name):
            raise BadConfiguration(
                f"{table.place(key)} names {name}, which is jpweb's own. It must name a variable "
                "other than JPWEB_*, DJANGO_*, DATABASE_URL and REDIS_URL."
            )


def _url(table: Table, key: str) -> str | None:
    url = table.text(key)
    if url is None or (url.startswith(("http://", "https://")) and url.isprintable()):
        return url
    raise table.refuse(key, "an address that begins with http:// or https://")


def _checksum(table: Table) -> str | None:
    if table.get("checksum") is None:
        return None
    inner = table.table("checksum")
    if inner.text("algorithm") not in (None, "sha256"):
        raise inner.refuse("algorithm", '"sha256"')
    value = inner.text("value")
    if value is None or not _SHA256.fullmatch(value):
        raise inner.refuse("value", "64 hexadecimal digits")
    inner.close()
    return value.lower()


def _headers(table: Table) -> dict[str, str]:
    inner = table.table("headers")
    made: dict[str, str] = {}
    for name in inner.values:
        value: Any = inner.get(name)
        fits = isinstance(value, str) and value.isprintable() and _HEADER.fullmatch(name)
        if not fits:
            raise inner.refuse(name, "an HTTP header with a text of one line", hidden=True)
        made[name] = value
    return made

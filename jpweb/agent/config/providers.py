"""Reads models, providers and MCP servers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jpweb.agent.config.model_parameters import read_parameters
from jpweb.agent.config.table_reader import TableReader, join_choices
from jpweb.agent.config.types import (
    CHECKSUM_ALGORITHMS,
    DEFAULT_START_SECONDS,
    UNSET_MODEL,
    InquiryConfig,
    McpServer,
    ModelConfig,
    ProviderConfig,
)
from jpweb.agent.errors import InvalidConfiguration

ModelAliases = Mapping[str, ModelConfig]

MAX_NAME_CHARS = 100
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
#: Environment variables of jpweb itself: its secrets, and the locations of its data.
_OWN_VARIABLES = re.compile(r"(JPWEB|DJANGO)_.*|DATABASE_URL|REDIS_URL", re.ASCII | re.IGNORECASE)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", re.ASCII)
_MODEL_NAME = re.compile(r"[A-Za-z0-9_.:/~-]+", re.ASCII)
_HEX_DIGITS = re.compile(r"[0-9A-Fa-f]+", re.ASCII)
_TRANSPORTS = ("stdio", "http")
_MAX_BYTES = 2**40
#: Seconds that a configuration may give an MCP server to start.
_MAX_START_SECONDS = 86_400
#: Keys that JP has and jpweb does not use.
_PROVIDER_UNUSED = ("app_referrer", "base_url_env", "chain_on_max_tokens")


def read_aliases(root: TableReader) -> dict[str, ModelConfig]:
    """Return ``providers.llm.aliases``; an alias may name another one."""
    table = root.get_table("providers").get_table("llm").get_table("aliases")
    targets = {name: target for name in table.values if (target := table.get(name)) is not None}
    aliases: dict[str, ModelConfig] = {}
    for name, first_target in targets.items():
        links = {name: None}  # in their order
        target = first_target
        while isinstance(target, str) and target in targets and target not in aliases:
            if target in links:
                cycle = " -> ".join([*links, target])
                raise InvalidConfiguration(
                    f"{table.locate_key(name)} is a circular alias: {cycle}. "
                    'One of them must be "provider/name".'
                )
            links[target] = None
            target = targets[target]
        known_model = aliases.get(target) if isinstance(target, str) else None
        model = known_model or _read_model_id(table, next(reversed(links)), {})
        aliases |= dict.fromkeys(links, model)
    return {name: aliases[name] for name in targets}


def read_model(
    table: TableReader, aliases: ModelAliases, inherited_model: ModelConfig = UNSET_MODEL
) -> ModelConfig | None:
    """Return a model; parameters alone extend the inherited one's. None where it is not set."""
    parameters = read_parameters(table)
    model_id = _read_model_id(table, "id", aliases) if table.get("id") is not None else None
    table.note_unknown_keys()
    if model_id is not None:
        return ModelConfig(model_id.provider, model_id.name, parameters or {})
    return (
        None if parameters is None else ModelConfig("", "", parameters).merge_over(inherited_model)
    )


def read_inquiry(
    table: TableReader,
    aliases: ModelAliases,
    main_model: ModelConfig = UNSET_MODEL,
    *,
    is_unlimited: bool,
) -> InquiryConfig:
    """Return an inquiry's settings. Zero bytes set no limit if ``is_unlimited``, else inherit."""
    request = table.get_table("request")
    limit = request.get_whole_number("max_response_bytes", _MAX_BYTES)
    request.note_unknown_keys("max_retries", "base_backoff_ms", "max_backoff_secs", "cache")
    prompt = table.get("system_prompt")
    if isinstance(prompt, Mapping):
        prompt = table.get_table("system_prompt").get_text("value")
    elif prompt is not None:
        prompt = table.get_text("system_prompt")
    config = InquiryConfig(
        model=read_model(table.get_table("model"), aliases, main_model),
        system_prompt=prompt,
        max_response_bytes=limit if limit or is_unlimited else None,
    )
    table.note_unknown_keys("name", "system_prompt_sections", "instructions", "tool_choice")
    return config


def read_providers(root: TableReader) -> dict[str, ProviderConfig]:
    """Return ``providers.llm``."""
    table = root.get_table("providers").get_table("llm")
    return {
        name: _read_provider(table.get_table(name))
        for name in table.values
        if name != "aliases" and _check_name(table, name)
    }


def read_servers(root: TableReader) -> dict[str, McpServer]:
    """Return ``providers.mcp``."""
    table = root.get_table("providers").get_table("mcp")
    return {
        name: _read_server(name, server_table)
        for name, server_table in table.iter_tables()
        if _check_name(table, name)
    }


def _check_name(table: TableReader, name: str) -> bool:
    if not name or len(name) > MAX_NAME_CHARS:
        raise InvalidConfiguration(
            f"{table.locate_key(name)} must have a name of 1 to {MAX_NAME_CHARS} characters."
        )
    return True


def _read_model_id(table: TableReader, key: str, aliases: ModelAliases) -> ModelConfig:
    value = table.get(key)
    if isinstance(value, Mapping):
        id_table = table.get_table(key)
        model_id = ModelConfig(id_table.get_text("provider") or "", id_table.get_text("name") or "")
        for key_part in ("provider", "name"):
            if not id_table.get_text(key_part):
                raise id_table.make_error(key_part, "a name")
        if not _MODEL_NAME.fullmatch(model_id.name):
            raise id_table.make_error("name", "letters, digits and . _ : / ~ -")
        id_table.note_unknown_keys()
        return model_id
    if isinstance(value, str) and value in aliases:
        return aliases[value]
    provider, _, name = value.partition("/") if isinstance(value, str) else ("", "", "")
    provider, name = provider.strip(), name.strip()
    if not (provider and name):
        among = f", or an alias: {join_choices(*sorted(aliases)[:20])}" if aliases else ""
        raise table.make_error(key, f'"provider/name"{among}')
    if not _MODEL_NAME.fullmatch(name):
        raise table.make_error(key, "a model's name of letters, digits and . _ : / ~ -")
    return ModelConfig(provider, name)


def _read_provider(table: TableReader) -> ProviderConfig:
    """Return a provider; JP stores empty texts where it knows no address or variable."""
    url = _read_url(table, "base_url") if table.get("base_url") else None
    variable = table.get_text("api_key_env") or None
    if variable is not None and not _VARIABLE_NAME.fullmatch(variable):
        raise table.make_error("api_key_env", "the name of an environment variable")
    _refuse_own_variables(table, "api_key_env", variable or "")
    config = ProviderConfig(
        url, variable, table.get_text("app_name"), table.get_texts("beta_headers") or ()
    )
    table.note_unknown_keys(*_PROVIDER_UNUSED)
    return config


def _read_server(name: str, table: TableReader) -> McpServer:
    command, url = table.get_text("command"), _read_url(table, "url")
    kind = table.get_text("type") or ("stdio" if url is None else "http")
    if kind not in _TRANSPORTS:
        raise table.make_error("type", join_choices(*_TRANSPORTS))
    if kind == "http" and url is None:
        raise table.make_error("url", "an address that begins with http:// or https://")
    if kind == "stdio" and (not command or "\0" in command):
        raise table.make_error("command", "the name or path of a program")
    arguments, variables = table.get_texts("arguments") or (), table.get_texts("variables") or ()
    if any("\0" in argument for argument in arguments):
        raise table.make_error("arguments", "a list of strings without NUL")
    if not all(_VARIABLE_NAME.fullmatch(variable) for variable in variables):
        raise table.make_error("variables", "a list of names of environment variables")
    _refuse_own_variables(table, "variables", *variables)
    checksum, headers = _read_checksum(table), _read_headers(table)
    start_seconds = table.get_whole_number("startup_timeout_secs", _MAX_START_SECONDS)
    start: dict[str, Any] = {
        "optional": table.get_flag("optional") or False,
        "start_seconds": DEFAULT_START_SECONDS if start_seconds is None else start_seconds,
    }
    table.note_unknown_keys()
    if kind == "http":
        return McpServer(name, url=url, headers=headers, **start)
    return McpServer(name, command, arguments, variables, checksum, **start)


def _refuse_own_variables(table: TableReader, key: str, *names: str) -> None:
    """Refuse names of variables that hold jpweb's own secrets; no configuration may use them."""
    for name in names:
        if _OWN_VARIABLES.fullmatch(name):
            raise InvalidConfiguration(
                f"{table.locate_key(key)} names {name}, which is jpweb's own. "
                "It must name a variable "
                "other than JPWEB_*, DJANGO_*, DATABASE_URL and REDIS_URL."
            )


def _read_url(table: TableReader, key: str) -> str | None:
    url = table.get_text(key)
    if url is None or (url.startswith(("http://", "https://")) and url.isprintable()):
        return url
    raise table.make_error(key, "an address that begins with http:// or https://")


def _read_checksum(table: TableReader) -> str | None:
    if table.get("checksum") is None:
        return None
    checksum_table = table.get_table("checksum")
    algorithms = {algorithm.name: algorithm for algorithm in CHECKSUM_ALGORITHMS}
    name = checksum_table.get_text("algorithm")
    name = CHECKSUM_ALGORITHMS[0].name if name is None else name
    if name not in algorithms:
        raise checksum_table.make_error("algorithm", join_choices(*algorithms))
    value, digit_count = checksum_table.get_text("value"), algorithms[name].digit_count
    if value is None or len(value) != digit_count or not _HEX_DIGITS.fullmatch(value):
        raise checksum_table.make_error("value", f"{digit_count} hexadecimal digits")
    checksum_table.note_unknown_keys()
    return value.lower()


def _read_headers(table: TableReader) -> dict[str, str]:
    headers_table = table.get_table("headers")
    headers: dict[str, str] = {}
    for name in headers_table.values:
        value: Any = headers_table.get(name)
        is_valid = isinstance(value, str) and value.isprintable() and _HEADER_NAME.fullmatch(name)
        if not is_valid:
            raise headers_table.make_error(
                name, "an HTTP header with a single-line value", is_hidden=True
            )
        headers[name] = value
    return headers

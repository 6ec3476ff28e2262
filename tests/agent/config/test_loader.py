from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jpweb.agent.config import (
    UNSET_MODEL,
    Configuration,
    InquiryConfig,
    McpServer,
    ModelConfig,
    ProviderConfig,
    RequestConfig,
)
from jpweb.agent.config.layers import Layer
from jpweb.agent.config.loader import load_configuration
from jpweb.agent.config.system_prompt import DEFAULT_PROMPT
from jpweb.agent.config.types import AssistantConfig
from jpweb.agent.errors import InvalidConfiguration
from tests.agent.config.making import LOCAL, OWN, get_refusal, read_configuration
from tests.machine.sizes import choose_size

#: Keys that lead somewhere, so that arbitrary tables reach the readers.
NAMES = (
    "assistant", "conversation", "providers", "tools", "llm", "mcp", "aliases", "inquiry",
    "model", "id", "parameters", "request", "system_prompt", "system_prompt_sections",
    "instructions", "value", "strategy", "title", "items", "examples", "position",
    "tool_choice", "function", "max_retries", "base_backoff_ms", "t", "ask_user", "source",
    "command", "program", "args", "shell", "enable", "state", "allow_toggle", "run", "result",
    "questions", "answer", "target", "exclusive", "prompt_label", "detached", "tool",
    "deliver", "style", "type", "required", "properties", "enum", "default", "options",
    "access", "fs", "path", "strategy", "value", "optional", "startup_timeout_secs",
    "provider", "name", "base_url", "api_key_env", "beta_headers", "url", "headers",
    "variables", "arguments", "checksum", "algorithm", "summary"
)  # fmt: skip
KEYS = st.sampled_from(NAMES) | st.text(max_size=4)
WORDS = st.sampled_from(
    [
        "local",
        "builtin",
        "mcp.s",
        "mcp.s.t",
        "ask",
        "true",
        "'",
        "on",
        "always",
        "auto",
        "user",
        "a/b",
        "append",
        "string",
        "http://x",
        "stdio",
        "json",
        "",
        "wait",
        "if_named",
        "sha256",
    ]
)
LEAVES: Any = st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=5)
VALUES: Any = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=25,
)
TABLES = st.dictionaries(KEYS, VALUES, max_size=4)


def within(*path: str) -> Any:
    """Return tables that stand at a place, so that what is read there is tried."""
    tables: Any = TABLES
    for key in reversed(path):
        tables = tables.map(lambda table, key=key: {key: table})
    return tables


PLACES = st.one_of(
    within(),
    within("assistant"),
    within("providers"),
    within("providers", "llm", "x"),
    within("providers", "mcp", "x"),
    within("conversation", "tools"),
    within("conversation", "tools", "ask_user"),
    within("conversation", "tools", "t"),
    within("conversation", "tools", "ask_user", "parameters"),
    within("conversation", "tools", "ask_user", "questions"),
    within("conversation", "inquiry", "assistant"),
)


def outcome(*tables: Any) -> Configuration | str:
    """Return what reading makes of the tables: a configuration, or the refusal."""
    try:
        return load_configuration([Layer("f", table) for table in tables], OWN)
    except InvalidConfiguration as error:
        return str(error)


@settings(max_examples=choose_size(100, 400))
@given(st.lists(PLACES, max_size=3))
def test_reading_gives_a_configuration_or_one_line_that_says_why_not(tables: list[Any]):
    result = outcome(*tables)
    if isinstance(result, str):
        assert result.isprintable()
    else:
        assert all(note.isprintable() for note in result.notes)


@given(PLACES)
def test_load_configuration_with_a_repeated_layer_is_unchanged(table: Any):
    first, second = outcome(table), outcome(table, table)
    if isinstance(first, str):
        assert first == second
    else:
        assert isinstance(second, Configuration)
        assert replace(first.assistant, system=()) == replace(second.assistant, system=())
        assert repr(
            (first.tools, first.providers, first.servers, first.inquiry, first.notes)
        ) == repr((second.tools, second.providers, second.servers, second.inquiry, second.notes))


def test_load_configuration_without_layers_returns_defaults():
    config = load_configuration([])
    assert config == Configuration(assistant=AssistantConfig(system=(DEFAULT_PROMPT,)))
    assert config.assistant.model is UNSET_MODEL


ALIAS = '[providers.llm.aliases]\nsonnet = {provider = "anthropic", name = "s-4"}\nx = "a/b/c"\n'


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ('"anthropic/claude"', ModelConfig("anthropic", "claude")),
        ('"scripted/script"', ModelConfig("scripted", "script")),
        ('"openrouter/meta/llama"', ModelConfig("openrouter", "meta/llama")),
        ('"sonnet"', ModelConfig("anthropic", "s-4")),
        ('"x"', ModelConfig("a", "b/c")),
        ('{provider = "google", name = "g"}', ModelConfig("google", "g")),
    ],
)
def test_a_model_is_named_whole_by_an_alias_or_in_two_parts(toml: str, expected: ModelConfig):
    assert read_configuration(f"{ALIAS}[assistant.model]\nid = {toml}").assistant.model == expected


def test_the_models_parameters_stay_as_they_are():
    model = read_configuration(
        '[assistant.model]\nid = "a/b"\nparameters = {x = {y = [1]}}'
    ).assistant.model
    assert model.parameters == {"x": {"y": [1]}}


def test_a_name_that_is_no_alias_is_refused_with_those_there_are():
    message = get_refusal(f'{ALIAS}[assistant.model]\nid = "opus"')
    assert message == (
        '0.toml: assistant.model.id is "opus". '
        'It must be "provider/name", or an alias: sonnet or x.'
    )


def test_load_configuration_reads_all_assistant_keys():
    assistant = read_configuration(
        """
        [assistant]
        name = "JP"
        tool_choice = "required"
        [assistant.request]
        max_retries = 0
        base_backoff_ms = 250
        max_backoff_secs = 9
        cache = true
        max_response_bytes = 5
        stream_idle_timeout_secs = 10
        """
    ).assistant
    assert (assistant.name, assistant.tool_choice) == ("JP", "required")
    assert assistant.request == RequestConfig(0, 0.25, 9.0, 5, 10.0)
    assert read_configuration("").assistant.request == RequestConfig()
    assert (
        read_configuration('assistant.tool_choice = {function = "t"}').assistant.tool_choice == "t"
    )


def test_an_inquiry_has_its_own_model_prompt_and_limit():
    config = read_configuration(
        """
        assistant.model.id = "a/b"
        [conversation.inquiry.assistant]
        model = {id = "c/d", parameters = {x = 1}}
        system_prompt = "Answer."
        request.max_response_bytes = 100
        """
    ).inquiry
    assert config == InquiryConfig(ModelConfig("c", "d", {"x": 1}), "Answer.", 100)


def test_inquiry_config_inherits_missing_values():
    text = """
        assistant.model = {id = "a/b", parameters = {x = 1, y = 1}}
        [conversation.inquiry.assistant]
        """
    assert read_configuration(text).inquiry == InquiryConfig()
    assert read_configuration(f"{text}model.parameters.y = 2").inquiry.model == ModelConfig(
        "a", "b", {"x": 1, "y": 2}
    )
    assert (
        read_configuration(f"{text}request.max_response_bytes = 0").inquiry.max_response_bytes
        is None
    )
    toml = 'system_prompt = {value = "x", strategy = "append"}'
    assert read_configuration(f"{text}{toml}").inquiry.system_prompt == "x"


def test_providers_and_servers_are_read():
    config = read_configuration(
        """
        [providers.llm.openai]
        base_url = "http://localhost:1"
        api_key_env = "K"
        app_name = "x"
        beta_headers = ["b"]
        base_url_env = "U"
        [providers.mcp.a]
        type = "stdio"
        command = "c"
        arguments = ["x"]
        variables = ["V"]
        checksum = {{algorithm = "sha256", value = "{}"}}
        [providers.mcp.b]
        url = "https://x"
        headers = {{X-Y = "z"}}
        [providers.mcp.c]
        command = "c"
        checksum.value = "{}"
        [providers.mcp.d]
        command = "c"
        checksum = {{algorithm = "sha1", value = "{}"}}
        """.format("AB" * 32, "0" * 64, "CD" * 20)
    )
    assert config.providers == {"openai": ProviderConfig("http://localhost:1", "K", "x", ("b",))}
    assert config.servers == {
        "a": McpServer("a", "c", ("x",), ("V",), "ab" * 32),
        "b": McpServer("b", url="https://x", headers={"X-Y": "z"}),
        "c": McpServer("c", "c", checksum="0" * 64),
        "d": McpServer("d", "c", checksum="cd" * 20),
    }
    assert config.notes == ()


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ("assistant = 1", "assistant is 1. It must be a table."),
        ("assistant.name = 1", "assistant.name is 1. It must be a string."),
        ("assistant.tool_choice = 1", "It must be auto, none, required or the name of a tool."),
        (
            "assistant.request.max_retries = true",
            "is true. It must be a whole number from 0 to 100",
        ),
        ("assistant.request.max_retries = -1", "is -1. It must be a whole number from 0 to 100."),
        ("assistant.model.id = 1", 'is 1. It must be "provider/name".'),
        ('assistant.model.id = "x"', 'assistant.model.id is "x". It must be "provider/name".'),
        ('assistant.model.id = {name = "x"}', "model.id.provider is missing. It must be a name."),
        ('assistant.model = "a/b"', 'assistant.model is "a/b". It must be a table.'),
        ('providers.llm.aliases.a = "b"', 'aliases.a is "b". It must be "provider/name".'),
        ('providers.llm.x.base_url = "ftp://x"', "It must be an address that begins with http://"),
        ('providers.llm.x.base_url = "http://\\u202e"', r'is "http://\u202e". It must be an addr'),
        ('providers.llm.x.api_key_env = "a b"', "It must be the name of an environment variable."),
        ("providers.llm.x.beta_headers = [1]", "is [1]. It must be a list of strings."),
        ('providers.llm."" = {}', 'providers.llm."" must have a name of 1 to 100 characters.'),
        ("providers.mcp.x = {}", "mcp.x.command is missing. It must be the name or path of a prog"),
        ('providers.mcp.x.type = "sse"', 'type is "sse". It must be stdio or http.'),
        ('providers.mcp.x.type = "http"', "url is missing. It must be an address"),
        ('providers.mcp.x = {command = "c", arguments = ["\\u0000"]}', "strings without NUL."),
        ('providers.mcp.x = {command = "c", variables = ["A=B"]}', "names of environment variable"),
        (
            'providers.mcp.x = {command = "c", checksum = {algorithm = "md5", value = "x"}}',
            'checksum.algorithm is "md5". It must be sha256 or sha1.',
        ),
        (
            'providers.mcp.x = {command = "c", checksum = {value = "x"}}',
            'checksum.value is "x". It must be 64 hexadecimal digits.',
        ),
        (
            'providers.mcp.x = {command = "c", checksum = {algorithm = "sha1", value = "x"}}',
            'checksum.value is "x". It must be 40 hexadecimal digits.',
        ),
    ],
)
def test_a_bad_value_is_refused_with_file_key_value_and_what_is_allowed(toml: str, expected: str):
    message = get_refusal("", toml, "")
    assert message.startswith("1.toml: ")
    assert expected in message


def test_the_value_of_a_header_is_in_no_message():
    message = get_refusal('[providers.mcp.x]\nurl = "https://x"\nheaders = {A = "s3cret\\n"}')
    assert "s3cret" not in message
    assert "providers.mcp.x.headers.A has a value that is not allowed." in message


def test_a_bad_value_names_the_file_that_says_it_last():
    assert get_refusal("assistant.name = 1", "assistant.name = 2").startswith("1.toml: ")
    assert read_configuration("assistant.name = 1", 'assistant.name = "x"').assistant.name == "x"


def test_a_long_value_is_cut():
    assert len(get_refusal(f'assistant.tool_choice = ["{"x" * 9000}"]')) < 200


def test_unknown_config_key_is_noted_with_its_file():
    config = read_configuration(
        "x = 1", f"[assistant]\nnme = 1\n[conversation.tools.t]\n{LOCAL}'a b' = 1"
    )
    assert sorted(config.notes) == [
        "0.toml: x is not known and was ignored.",
        "1.toml: assistant.nme is not known and was ignored.",
        '1.toml: conversation.tools.t."a b" is not known and was ignored.',
    ]


def test_load_configuration_notes_no_keys_known_to_jp():
    config = read_configuration(
        f"""
        inherit = true
        config_load_paths = []
        extends = []
        style.code.color = true
        editor.cmd = "vi"
        plugins.auto_install = true
        [conversation]
        title.generate.auto = true
        attachments = []
        start_local = true
        [conversation.tools."*"]
        format = "unattended"
        style.hidden = true
        [conversation.tools.t]
        {LOCAL}
        style.inline_results = "full"
        parameters.a = {{type = "string", examples = "x"}}
        """
    )
    assert config.notes == ()


OFF = '[conversation.tools.t]\nsource = "local"\ncommand = "true"\nenable = '
FORCED = 'assistant.tool_choice = "t"\n'


@pytest.mark.parametrize("enable", ["false", '"explicit"', '{state = false, allow_toggle = "any"}'])
def test_a_forced_tool_that_is_off_is_offered(enable: str):
    assert not read_configuration(f"{OFF}{enable}").tools["t"].enable.state
    assert read_configuration(f"{FORCED}{OFF}{enable}").tools["t"].enable.state


def test_a_forced_tool_that_is_locked_off_is_refused():
    text = get_refusal(f'{FORCED}{OFF}{{state = false, allow_toggle = "never"}}')
    assert "assistant.tool_choice forces `t`, which is locked off" in text


@pytest.mark.parametrize("choice", ["auto", "none", "required", "unknown"])
def test_tool_choice_enables_no_tool(choice: str):
    configuration = read_configuration(f'assistant.tool_choice = "{choice}"\n{OFF}false')
    assert not configuration.tools["t"].enable.state

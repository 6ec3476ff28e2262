from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jpweb.agent.config.layers import Layer
from jpweb.agent.config.loader import load_configuration
from jpweb.store.errors import InvalidConfigFile
from jpweb.store.jp_files import config


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


#: What the variables below leave out.
BASE = Layer(
    "base",
    {
        "assistant": {"model": {"id": {"provider": "openai", "name": "gpt"}}},
        "conversation": {
            "tools": {name: {"source": "local", "command": "true"} for name in ("fs_read", "grep")}
        },
        "providers": {"mcp": {"git": {"command": "serve"}}},
    },
)


def model_parameter(key: str, value: Any) -> dict[str, Any]:
    return {"assistant": {"model": {"parameters": {key: value}}}}


@pytest.mark.parametrize(
    ("name", "text", "values"),
    [
        ("ASSISTANT_NAME", "Ada", {"assistant": {"name": "Ada"}}),
        ("ASSISTANT_MODEL_ID", "openai/x", {"assistant": {"model": {"id": "openai/x"}}}),
        ("ASSISTANT_MODEL_ID_NAME", "x", {"assistant": {"model": {"id": {"name": "x"}}}}),
        ("assistant_tool_choice", "none", {"assistant": {"tool_choice": "none"}}),
        ("ASSISTANT_MODEL_PARAMETERS_MAX_TOKENS", "10", model_parameter("max_tokens", 10)),
        ("ASSISTANT_MODEL_PARAMETERS_TEMPERATURE", "0.5", model_parameter("temperature", 0.5)),
        ("ASSISTANT_MODEL_PARAMETERS_REASONING", "off", model_parameter("reasoning", "off")),
        (
            "ASSISTANT_MODEL_PARAMETERS_REASONING",
            "high",
            model_parameter("reasoning", {"effort": "high"}),
        ),
        (
            "ASSISTANT_MODEL_PARAMETERS_REASONING",
            "4096",
            model_parameter("reasoning", {"effort": {"absolute": 4096}}),
        ),
        (
            "ASSISTANT_MODEL_PARAMETERS_STOP_WORDS",
            "+a,b",
            model_parameter("stop_words", {"value": ["a", "b"], "strategy": "append"}),
        ),
        (
            "ASSISTANT_MODEL_PARAMETERS_STOP_WORDS",
            "a,b",
            model_parameter("stop_words", {"value": ["a", "b"], "strategy": "replace"}),
        ),
        (
            "ASSISTANT_SYSTEM_PROMPT",
            "+More",
            {"assistant": {"system_prompt": {"value": "More", "strategy": "append"}}},
        ),
        ("ASSISTANT_SYSTEM_PROMPT", "\\+1", {"assistant": {"system_prompt": "+1"}}),
        (
            "CONVERSATION_TOOLS",
            ':{"fs_read": {"run": "ask"}}',
            {"conversation": {"tools": {"fs_read": {"run": "ask"}}}},
        ),
        (
            "CONVERSATION_TOOLS_GREP_RUN",
            "ask",
            {"conversation": {"tools": {"grep": {"run": "ask"}}}},
        ),
        (
            "CONVERSATION_TOOLS_GREP_ENABLE",
            "false",
            {"conversation": {"tools": {"grep": {"enable": False}}}},
        ),
        (
            "CONVERSATION_TOOLS_GREP_ENABLE",
            "explicit",
            {"conversation": {"tools": {"grep": {"enable": "explicit"}}}},
        ),
        (
            "PROVIDERS_LLM_OPENROUTER_API_KEY_ENV",
            "KEY",
            {"providers": {"llm": {"openrouter": {"api_key_env": "KEY"}}}},
        ),
        (
            "PROVIDERS_LLM_ALIASES_FAST",
            "google/x",
            {"providers": {"llm": {"aliases": {"fast": "google/x"}}}},
        ),
        (
            "PROVIDERS_MCP_GIT_OPTIONAL",
            "true",
            {"providers": {"mcp": {"git": {"optional": True}}}},
        ),
    ],
)
def test_environment_variable_sets_its_config_key(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, values: dict[str, Any]
):
    monkeypatch.setenv(f"JP_CFG_{name}", text)
    files = config.read_config(root)
    assert (files.layers, files.notes) == (((f"JP_CFG_{name}", values),), ())
    load_configuration([BASE, *(Layer(*layer) for layer in files.layers)])  # raises nothing


@pytest.mark.parametrize(
    ("name", "text", "needed"),
    [
        ("ASSISTANT_MODEL_PARAMETERS_TOP_K", "many", "a number"),
        ("ASSISTANT_MODEL_PARAMETERS_REASONING", "deep", "off, auto, an effort"),
        ("ASSISTANT_INSTRUCTIONS", "x", "JSON after a colon"),
        ("ASSISTANT", "x", "JSON after a colon"),
        ("CONVERSATION_TOOLS", ":{", "JSON"),
        ("CONVERSATION_TOOLS", ":" + "[" * 100_000, "JSON"),
        ("PROVIDERS_MCP_GIT_OPTIONAL", "yes", "true or false"),
    ],
)
def test_invalid_value_of_a_variable_is_refused_and_not_repeated(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, needed: str
):
    monkeypatch.setenv(f"JP_CFG_{name}", text)
    with pytest.raises(InvalidConfigFile) as error:
        config.read_config(root)
    assert str(error.value).startswith(f"The environment variable JP_CFG_{name} is not {needed}")
    assert text not in str(error.value)


@pytest.mark.parametrize(
    "name", ["EDITOR_CMD", "ASSISTANT_NAMES", "CONVERSATION_TOOLS_FS_READ_RUN"]
)
def test_a_variable_of_another_key_is_noted(root: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setenv(f"JP_CFG_{name}", "x")
    files = config.read_config(root)
    assert files.layers == ()
    assert files.notes == (f"JP_CFG_{name} was not read: jpweb uses no such key.",)


def test_config_fingerprint_changes_with_an_environment_variable(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("JP_CFG_ASSISTANT_NAME", "Ada")
    first = config.read_config(root)
    monkeypatch.setenv("JP_CFG_ASSISTANT_NAME", "Grace")
    assert config.read_config(root).fingerprint != first.fingerprint

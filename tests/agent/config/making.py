"""Configurations from TOML, as short as a test can say them."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from jpweb.agent.config import Configuration, ToolConfig
from jpweb.agent.config.layers import Layer
from jpweb.agent.config.loader import load_configuration
from jpweb.agent.errors import InvalidConfiguration
from jpweb.agent.tools import BUILTINS
from jpweb.agent.turn_setup import make_default_config

OWN = [make_default_config(tool) for tool in BUILTINS]
#: A local tool, as the smallest that is one.
LOCAL = 'source = "local"\ncommand = "true"\n'


def make_layers(*texts: str) -> list[Layer]:
    return [Layer(f"{number}.toml", tomllib.loads(text)) for number, text in enumerate(texts)]


def read_configuration(*texts: str) -> Configuration:
    return load_configuration(make_layers(*texts), OWN)


def read_tool_config(entry: str, *above: str, defaults: str = "", name: str = "t") -> ToolConfig:
    """Read one tool from the entries of several layers."""
    texts = [f"[conversation.tools.{name}]\n{text}" for text in (entry, *above)]
    if defaults:
        texts.insert(0, f'[conversation.tools."*"]\n{defaults}')
    return read_configuration(*texts).tools[name]


def get_refusal(*texts: str) -> str:
    """Return the message with which a configuration is refused: one line."""
    with pytest.raises(InvalidConfiguration) as error:
        read_configuration(*texts)
    assert "\n" not in str(error.value)
    return str(error.value)


def read_prompt_parts(*texts: str) -> list[Any]:
    return list(read_configuration(*texts).assistant.system)

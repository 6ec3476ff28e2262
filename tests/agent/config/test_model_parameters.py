from __future__ import annotations

from typing import Any

import pytest

from jpweb.agent.config import ModelConfig
from jpweb.agent.config.approval_policy import SecondModel
from jpweb.agent.config.layers import Layer
from jpweb.agent.config.loader import load_configuration
from jpweb.agent.config.model_parameters import EFFORTS
from jpweb.agent.errors import InvalidConfiguration
from jpweb.agent.providers.adapter import parameters
from tests.agent.config.making import LOCAL, read_configuration

MOST = 2**31 - 1


def make_model_toml(toml: str, table: str = "assistant.model") -> str:
    return f'[{table}]\nid = "a/b"\nparameters = {{{toml}}}'


@pytest.mark.parametrize(
    "toml",
    [
        "max_tokens = 1",
        "top_k = 40",
        "temperature = 0",
        "temperature = 0.7",
        "top_p = 1.0",
        'stop_words = ["x"]',
        "stop_words = []",
        "other = {a = {b = [1]}}",
        "unheard = 1",
        *(f'reasoning = "{effort}"' for effort in EFFORTS),
        "reasoning = {}",
        'reasoning = {effort = "low", exclude = true, more = 1}',
        "reasoning = {effort = 2048}",
        "reasoning = {effort = {absolute = 2048}}",
    ],
)
def test_parameters_that_can_be_sent_stay_as_they_are(toml: str):
    (key, value), *_ = read_configuration(make_model_toml(toml)).assistant.model.parameters.items()
    assert f"{key} = " in toml
    parameters.make_settings({key: value})
    parameters.read_reasoning({key: value})


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ("other = [1]", "other is [1]. It must be a table."),
        ('other = "x"', 'other is "x". It must be a table.'),
        ('max_tokens = "x"', f'max_tokens is "x". It must be a whole number from 1 to {MOST}.'),
        ("max_tokens = 1.5", f"max_tokens is 1.5. It must be a whole number from 1 to {MOST}."),
        ("max_tokens = true", "max_tokens is true. It must be a whole number"),
        ("max_tokens = 0", "max_tokens is 0. It must be a whole number"),
        ("top_k = -1", "top_k is -1. It must be a whole number"),
        ('temperature = "hot"', 'temperature is "hot". It must be a number.'),
        ("top_p = false", "top_p is false. It must be a number."),
        ('stop_words = "x"', 'stop_words is "x". It must be a list of strings.'),
        ('stop_words = {value = ["x"]}', "stop_words is a table. It must be a list of strings."),
        ('stop_words = {value = [1], strategy = "append"}', "stop_words is [1]. It must be a list"),
        ('reasoning = "hard"', 'reasoning is "hard". It must be off, none, auto, xlow,'),
        ("reasoning = true", "reasoning is true. It must be off, none,"),
        ("reasoning = {effort = -5}", "effort is -5. It must be off, none,"),
        ("reasoning = {effort = []}", "max, or a whole number of tokens from 1 to"),
        ("reasoning = {exclude = 1}", "exclude is 1. It must be true or false."),
    ],
)
@pytest.mark.parametrize("table", ["assistant.model", "conversation.inquiry.assistant.model"])
def test_model_parameters_that_cannot_be_sent_are_refused(toml: str, expected: str, table: str):
    with pytest.raises(InvalidConfiguration) as error:
        read_configuration(make_model_toml(toml, table))
    assert str(error.value).startswith(f"0.toml: {table}.parameters.")
    assert expected in str(error.value)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([{"value": ["b"], "strategy": "append"}], ["b"]),
        ([["a"], {"value": ["b"], "strategy": "append"}], ["a", "b"]),
        ([["a"], {"value": ["b"], "strategy": "prepend"}], ["b", "a"]),
        ([["a"], {"value": ["b"], "strategy": "replace"}], ["b"]),
        ([{"value": ["a"], "strategy": "append"}, ["b"]], ["b"]),
    ],
)
def test_stop_words_join_those_of_lower_layers_as_their_strategy_says(
    values: list[Any], expected: list[str]
):
    layers = [
        Layer("f", {"assistant": {"model": {"parameters": {"stop_words": value}}}})
        for value in values
    ]
    model = load_configuration(layers).assistant.model
    assert model.parameters == {"stop_words": expected}


def test_stop_words_are_not_looked_for_in_a_layer_with_another_value():
    question = {"source": "local", "command": "true", "questions": {"q": {"target": "assistant"}}}
    target = {"target": {"model": {"parameters": {"stop_words": ["a"]}}}}
    layers = [
        Layer("f", {"conversation": {"tools": {"t": entry}}})
        for entry in (question, {"questions": {"q": target}})
    ]
    config = load_configuration(layers).tools["t"].get_question("q").inquiry.model
    assert config is not None
    assert config.parameters == {"stop_words": ["a"]}


def test_parameters_without_a_model_wait_for_the_model_that_is_chosen():
    config = read_configuration(
        """
        assistant.model.parameters = {temperature = 1, top_k = 1}
        conversation.inquiry.assistant.model.parameters.temperature = 0
        """
    )
    chosen = ModelConfig("a", "b", {"top_k": 2, "top_p": 1})
    assert config.assistant.model.merge_over(chosen) == ModelConfig(
        "a", "b", {"temperature": 1, "top_k": 1, "top_p": 1}
    )
    assert config.inquiry.model == ModelConfig("", "", {"temperature": 0, "top_k": 1})


def test_parameters_of_a_question_are_for_the_model_of_all_questions():
    config = read_configuration(
        f"""
        assistant.model.id = "anthropic/big"
        conversation.inquiry.assistant.model.id = "ollama/small"
        [conversation.tools.t]
        {LOCAL}
        questions.confirm.target = {{model = {{parameters = {{temperature = 0}}}}}}
        """
    )
    question = config.tools["t"].get_question("confirm")
    assert SecondModel.from_configuration(config).get_settings(question)["model"] == {
        "provider": "ollama", "name": "small", "parameters": {"temperature": 0}
    }  # fmt: skip


def test_an_effort_of_null_is_medium():
    reasoning: Any = {"effort": None, "exclude": True}
    model = {"id": "a/b", "parameters": {"reasoning": reasoning, "other": None}}
    assistant_model = load_configuration(
        [Layer("f", {"assistant": {"model": model}})]
    ).assistant.model.parameters
    assert parameters.read_reasoning(assistant_model) == parameters.ReasoningSettings(
        parameters.ReasoningMode.SET, "medium"
    )


def test_the_efforts_are_those_that_providers_know():
    for effort in EFFORTS:
        parameters.read_reasoning({"reasoning": effort})
    assert {"off", *parameters._EFFORTS} == set(EFFORTS)

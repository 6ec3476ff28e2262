from __future__ import annotations

from typing import Any

import pytest

from jpweb.agent.errors import FailureKind
from tests.agent.providers.conversing import (
    MODELS,
    get_failure,
    join_text,
    make_provider,
    make_request,
    receive_events,
)
from tests.machine.vendors import Reply, Say, Think, run_vendor

EVERY: dict[str, Any] = {
    "max_tokens": 4000,
    "temperature": 0.5,
    "top_p": 0.9,
    "top_k": 40,
    "stop_words": ["END"],
    "other": {"jpweb_canary": True},
}


async def get_sent_body(name: str, model: str = "", **parameters: Any) -> Any:
    with run_vendor(name, [Reply(Think("Hm"), Say("Hello"))]) as standin:
        events = await receive_events(
            make_provider(standin, parameters, model), make_request(tools=())
        )
        assert join_text(events, "message") == "Hello"
        return standin.requests[0].body


@pytest.mark.parametrize(
    ("name", "model", "expected"),
    [
        (
            "anthropic",
            "",
            {"max_tokens": 4000, "temperature": 0.5, "top_p": 0.9, "top_k": 40}
            | {"stop_sequences": ["END"]},
        ),
        ("llamacpp", "", {"max_completion_tokens": 4000, "temperature": 0.5, "stop": ["END"]}),
        ("ollama", "", {"max_tokens": 4000, "temperature": 0.5, "top_p": 0.9, "stop": ["END"]}),
        ("openai", "gpt-4.1", {"max_output_tokens": 4000, "temperature": 0.5, "top_p": 0.9}),
        ("openrouter", "", {"temperature": 0.5, "top_p": 0.9, "stop": ["END"]}),
    ],
)
async def test_parameters_have_the_vendor_s_names(name: str, model: str, expected: Any):
    body = await get_sent_body(name, model, **EVERY)
    assert body.items() >= (expected | {"jpweb_canary": True}).items()


async def test_google_has_its_parameters_in_a_place_of_their_own():
    body = await get_sent_body("google", **EVERY)
    assert body["jpweb_canary"] is True
    config = body["generationConfig"]
    assert (config["maxOutputTokens"], config["temperature"]) == (4000, 0.5)
    assert (config["topP"], config["topK"], config["stopSequences"]) == (0.9, 40, ["END"])


@pytest.mark.parametrize("name", sorted(MODELS))
async def test_without_parameters_the_vendor_decides(name: str):
    body = str(await get_sent_body(name))
    assert [word for word in ("temperature", "thinking", "'effort'") if word in body] == []


@pytest.mark.parametrize(
    ("name", "reasoning", "field_name", "expected"),
    [
        ("openai", {"effort": "xlow"}, "reasoning", {"effort": "minimal", "summary": "auto"}),
        ("openai", {"effort": "low", "exclude": True}, "reasoning", {"effort": "low"}),
        ("openai", "off", "reasoning", {"effort": "none"}),
        ("openrouter", {"effort": "high"}, "reasoning", {"effort": "high", "enabled": True}),
        (
            "openrouter",
            {"effort": "high", "exclude": True},
            "reasoning",
            {"effort": "high", "enabled": True, "exclude": True},
        ),
        (
            "openrouter",
            {"exclude": True},
            "reasoning",
            {"enabled": True, "exclude": True},
        ),
        (
            "openrouter",
            {"effort": 2048},
            "reasoning",
            {"max_tokens": 2048, "enabled": True, "exclude": False},
        ),
        (
            "openrouter",
            {"effort": None, "exclude": True},
            "reasoning",
            {"exclude": True, "enabled": True},
        ),
        ("openrouter", "off", "reasoning", {"effort": "none"}),
        ("anthropic", {"effort": 2048}, "thinking", {"type": "enabled", "budget_tokens": 2048}),
        ("anthropic", "off", "thinking", None),
        ("ollama", {"effort": "xhigh"}, "reasoning_effort", "high"),
        ("ollama", {"effort": "auto"}, "reasoning_effort", None),
        ("ollama", "off", "reasoning_effort", "none"),
    ],
)
async def test_reasoning_is_asked_for_in_the_vendor_s_way(
    name: str, reasoning: Any, field_name: str, expected: Any
):
    body = await get_sent_body(name, reasoning=reasoning, max_tokens=8000)
    value = body.get(field_name)
    assert value.items() >= expected.items() if isinstance(value, dict) else value == expected


@pytest.mark.parametrize(
    ("reasoning", "expected"),
    [
        ({"effort": "low"}, {"include_thoughts": True, "thinking_level": "LOW"}),
        ({"effort": 512}, {"include_thoughts": True, "thinking_budget": 512}),
        ({"effort": 512, "exclude": True}, {"include_thoughts": False, "thinking_budget": 512}),
        ({"effort": "auto"}, {"include_thoughts": True}),
    ],
)
async def test_google_is_told_a_level_or_a_budget(reasoning: Any, expected: Any):
    body = await get_sent_body("google", reasoning=reasoning)
    assert body["generationConfig"]["thinkingConfig"] == expected


async def test_anthropic_is_asked_to_cache_the_prompt():
    assert "cache_control" in str(await get_sent_body("anthropic"))


@pytest.mark.parametrize("name", sorted(MODELS))
@pytest.mark.parametrize(
    ("parameter", "value", "kind"),
    [
        ("max_tokens", "x", "a number of tokens"),
        ("max_tokens", True, "a number of tokens"),
        ("max_tokens", -1, "a number of tokens"),
        ("temperature", "hot", "a number"),
        ("top_p", [1], "a number"),
        ("top_k", 1.5, "a whole number"),
        ("stop_words", "END", "a list of texts"),
        ("stop_words", [1], "a list of texts"),
        ("other", [1], "a table"),
        ("other", "x", "a table"),
    ],
)
async def test_a_parameter_of_another_kind_is_named(
    name: str, parameter: str, value: Any, kind: str
):
    with run_vendor(name) as standin:
        error, _ = await get_failure(make_provider(standin, {parameter: value}))
        assert standin.requests == []
    assert error.kind is FailureKind.BAD_REQUEST
    assert f"model.parameters.{parameter} is " in str(error)
    assert f"It must be {kind}" in str(error)

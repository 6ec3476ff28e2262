"""Reasoning as each vendor is asked for it: the tables of JP's rules, on the wire."""

from __future__ import annotations

from typing import Any

import pytest

from jpweb.agent.errors import FailureKind
from jpweb.agent.providers.adapter.parameters import ReasoningMode, ReasoningSettings
from jpweb.agent.providers.adapter.reasoning import (
    LEVELS,
    ReasoningKind,
    ReasoningModel,
    choose_effort,
    convert_to_budget,
    convert_to_level,
)
from tests.agent.providers.adapter.test_parameters import get_sent_body
from tests.agent.providers.conversing import get_failure, make_provider
from tests.machine.vendors import run_vendor

UNSET: dict[str, Any] = {}
OFF, AUTO = {"reasoning": "off"}, {"reasoning": "auto"}


def think(effort: Any) -> dict[str, Any]:
    return {"reasoning": {"effort": effort}}


def summarize_adaptive() -> dict[str, Any]:
    return {"type": "adaptive", "display": "summarized"}


def make_budget(tokens: int) -> dict[str, Any]:
    return {"type": "enabled", "budget_tokens": tokens, "display": "summarized"}


@pytest.mark.parametrize(
    ("kind", "levels", "expected"),
    [
        (ReasoningKind.UNKNOWN, LEVELS, (None, "auto", None, "low")),
        (ReasoningKind.UNSUPPORTED, LEVELS, (None, None, None, None)),
        (ReasoningKind.BUDGET, LEVELS, ("medium", "medium", None, "low")),
        (ReasoningKind.LEVELS, LEVELS, ("medium", "medium", None, "low")),
        (ReasoningKind.LEVELS, ["max"], ("max", "max", None, "low")),
        (ReasoningKind.LEVELS, ["low", "max"], ("low", "low", None, "low")),
        (ReasoningKind.ADAPTIVE, LEVELS, ("high", "high", None, "low")),
    ],
)
def test_choose_effort_depends_on_the_kind_of_the_model(
    kind: ReasoningKind, levels: Any, expected: Any
):
    model = ReasoningModel(kind, levels)
    configured = (
        ReasoningSettings(),
        ReasoningSettings(ReasoningMode.AUTO),
        ReasoningSettings(ReasoningMode.OFF),
        ReasoningSettings(ReasoningMode.SET, "low"),
    )
    assert tuple(choose_effort(settings, model) for settings in configured) == expected


@pytest.mark.parametrize(
    ("tokens", "level"),
    [(910, "max"), (900, "xhigh"), (810, "xhigh"), (800, "high"), (510, "high"),
     (500, "medium"), (210, "medium"), (200, "low"), (1, "low")],
)  # fmt: skip
def test_a_number_of_tokens_becomes_a_level_by_its_share(tokens: int, level: str):
    assert convert_to_level(tokens, 1000) == level
    assert convert_to_level(tokens, None) == "auto"


def test_a_level_becomes_a_share_of_the_output_limit():
    levels = ("max", "xhigh", "high", "medium", "auto", "low", "xlow", "none", 77)
    assert [convert_to_budget(level, 1000) for level in levels] == [
        1000, 900, 800, 500, 500, 200, 100, 0, 77,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("model", "parameters", "thinking", "effort"),
    [
        ("claude-opus-4-7", UNSET, summarize_adaptive(), "high"),
        ("claude-opus-4-7", AUTO, summarize_adaptive(), "high"),
        ("claude-opus-4-7", think("max"), summarize_adaptive(), "max"),
        ("claude-opus-4-7", think("xhigh"), summarize_adaptive(), "xhigh"),
        ("claude-opus-4-6", think("xhigh"), summarize_adaptive(), "high"),
        ("claude-opus-4-7", think("auto"), summarize_adaptive(), None),
        ("claude-opus-4-7", think("xlow"), summarize_adaptive(), "low"),
        ("claude-opus-4-7", think("none"), summarize_adaptive(), "low"),
        ("claude-opus-4-7", think(100_000), summarize_adaptive(), "high"),
        ("claude-sonnet-5", think({"absolute": 2_000}), summarize_adaptive(), "low"),
        ("claude-opus-5", OFF, {"type": "disabled"}, None),
        ("claude-sonnet-5-5", OFF, {"type": "between_tools"}, None),
        ("claude-fable-5", OFF, None, None),
        ("claude-fable-5", UNSET, summarize_adaptive(), "high"),
        ("claude-opus-4-5", think("low"), make_budget(12_800), None),
        ("claude-opus-4-5", UNSET, make_budget(32_000), None),
        ("claude-opus-4-5", think("high") | {"max_tokens": 8192}, make_budget(6_553), None),
        ("claude-opus-4-5", think("max") | {"max_tokens": 8192}, make_budget(8_191), None),
        ("claude-opus-4-5", think(16_384) | {"max_tokens": 8192}, make_budget(8_191), None),
        ("claude-opus-4-5", think("xlow") | {"max_tokens": 4000}, make_budget(1_024), None),
        ("claude-opus-4-5", think("max") | {"max_tokens": 900}, {"type": "disabled"}, None),
        ("claude-opus-4-5", OFF, {"type": "disabled"}, None),
        ("claude-3-7-of-yesterday", think(2_000), make_budget(2_000), None),
        ("claude-3-5-of-yesterday", think("high"), None, None),
        ("claude-opus-6", UNSET, None, None),
        ("claude-opus-6", think("low"), summarize_adaptive(), "low"),
        ("claude-opus-4-9", UNSET, None, None),
        ("not-heard-of", UNSET, None, None),
        ("not-heard-of", OFF, {"type": "disabled"}, None),
        ("not-heard-of", think("max"), summarize_adaptive(), "max"),
    ],
)
async def test_anthropic_thinks_adaptively_or_within_a_budget(
    model: str, parameters: dict[str, Any], thinking: Any, effort: str | None
):
    body = await get_sent_body("anthropic", model, **parameters)
    assert body.get("thinking") == thinking
    assert body.get("output_config", {}).get("effort") == effort


@pytest.mark.parametrize(
    ("model", "max_tokens"),
    [("claude-opus-4-5", 64_000), ("claude-opus-4-7", 128_000), ("not-heard-of", 2_048)],
)
async def test_anthropic_always_gets_an_output_limit(model: str, max_tokens: int):
    assert (await get_sent_body("anthropic", model))["max_tokens"] == max_tokens


@pytest.mark.parametrize(
    ("model", "parameters", "expected"),
    [
        ("gpt-5.1", UNSET, {"effort": "medium", "summary": "auto"}),
        ("gpt-5.1", think("xlow"), {"effort": "minimal", "summary": "auto"}),
        ("gpt-5.1", think("max"), {"effort": "xhigh", "summary": "auto"}),
        ("gpt-5.1", OFF, {"effort": "none", "summary": "auto"}),
        ("gpt-5.4", UNSET, {"effort": "medium", "summary": "auto", "context": "all_turns"}),
        ("gpt-5", OFF, {"effort": "minimal", "summary": "auto"}),
        ("gpt-5", think("xhigh"), {"effort": "high", "summary": "auto"}),
        ("o3", OFF, {"effort": "low", "summary": "auto"}),
        ("gpt-5.6", think("max"), {"effort": "max", "summary": "auto", "context": "all_turns"}),
        (
            "gpt-5.6",
            think("high") | {"reasoning_mode": "pro"},
            {"effort": "high", "summary": "auto", "context": "all_turns", "mode": "pro"},
        ),
        (
            "gpt-5.6",
            think("high") | {"reasoning_mode": "standard"},
            {"effort": "high", "summary": "auto", "context": "all_turns"},
        ),
        ("gpt-5.1", think("low") | {"reasoning_mode": "pro"}, {"effort": "low", "summary": "auto"}),
        ("gpt-4.1", think("high"), None),
        ("not-heard-of", UNSET, None),
        ("not-heard-of", think(4096), {"effort": "medium", "summary": "auto"}),
        ("not-heard-of", OFF, {"effort": "none"}),
        ("not-heard-of", think("max"), {"effort": "xhigh", "summary": "auto"}),
    ],
)
async def test_openai_reasons_by_level(model: str, parameters: dict[str, Any], expected: Any):
    assert (await get_sent_body("openai", model, **parameters)).get("reasoning") == expected


@pytest.mark.parametrize(
    ("model", "parameters", "is_sent"),
    [
        ("gpt-5.4", UNSET, False),
        ("gpt-5.4", OFF, True),
        ("gpt-4.1", UNSET, True),
        ("not-heard-of", think("low"), False),
        ("not-heard-of", UNSET, True),
    ],
)
async def test_gpt_5_gets_no_temperature_while_it_reasons(
    model: str, parameters: dict[str, Any], is_sent: bool
):
    body = await get_sent_body("openai", model, temperature=0.5, top_p=0.9, **parameters)
    assert ("temperature" in body, "top_p" in body) == (is_sent, is_sent)


@pytest.mark.parametrize(("verbosity", "expected"), [("low", "low"), ("loud", None)])
async def test_openai_request_has_the_verbosity(verbosity: str, expected: str | None):
    body = await get_sent_body("openai", "gpt-5.4", verbosity=verbosity)
    assert body.get("text", {}).get("verbosity") == expected
    assert (body["store"], body["truncation"]) == (False, "auto")


@pytest.mark.parametrize(
    ("model", "parameters", "expected"),
    [
        ("gemini-2.5-flash", UNSET, (True, 16_000, None)),
        ("gemini-2.5-flash", think("max"), (True, 24_576, None)),
        ("gemini-2.5-flash", OFF, (False, 0, None)),
        ("gemini-2.5-flash-lite", OFF, (False, 512, None)),
        ("gemini-2.5-pro", OFF, (False, 512, None)),
        ("gemini-2.5-pro", think(100), (True, 512, None)),
        ("gemini-2.5-pro", think("low") | {"max_tokens": 10_000}, (True, 2_000, None)),
        ("gemini-3-pro-preview", UNSET, (True, None, "HIGH")),
        ("gemini-3-pro-preview", think("low"), (True, None, "LOW")),
        ("gemini-3-pro-preview", think("xlow"), (True, None, "LOW")),
        ("gemini-3-pro-preview", OFF, (False, None, "LOW")),
        ("gemini-3-flash-preview", OFF, (False, None, "MINIMAL")),
        ("gemini-3-flash-preview", think("medium"), (True, None, "MEDIUM")),
        ("gemini-3-flash-preview", think("auto"), (True, None, "HIGH")),
        ("gemini-2.0-flash", think("high"), None),
        ("not-heard-of", UNSET, None),
        ("not-heard-of", OFF, (False, 0, None)),
        ("not-heard-of", think("auto"), (True, None, None)),
        ("not-heard-of", think("xhigh"), (True, None, "HIGH")),
    ],
)
async def test_google_request_has_a_thinking_level_or_budget(
    model: str, parameters: dict[str, Any], expected: Any
):
    body = await get_sent_body("google", model, **parameters)
    thinking = body.get("generationConfig", {}).get("thinkingConfig")
    keys = ("include_thoughts", "thinking_budget", "thinking_level")
    assert (None if thinking is None else tuple(map(thinking.get, keys))) == expected


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        (UNSET, {"exclude": False, "effort": "medium"}),
        (think("max"), {"exclude": False, "effort": "xhigh"}),
        (think("none"), {"exclude": False, "effort": "minimal"}),
        (OFF, {"exclude": True, "effort": "minimal"}),
    ],
)
async def test_openrouter_request_has_an_effort_and_no_unsupported_off(
    parameters: dict[str, Any], expected: Any
):
    assert (await get_sent_body("openrouter", **parameters))["reasoning"] == expected


@pytest.mark.parametrize(
    ("parameters", "form", "is_on"),
    [(UNSET, "none", False), (OFF, "none", False), (AUTO, "deepseek", True),
     (think("high"), "deepseek", True)],
)  # fmt: skip
async def test_llama_cpp_switches_reasoning_on_or_off(
    parameters: dict[str, Any], form: str, is_on: bool
):
    body = await get_sent_body("llamacpp", **parameters)
    assert body["reasoning_format"] == form
    assert body["chat_template_kwargs"] == {"enable_thinking": is_on}


@pytest.mark.parametrize(
    ("parameters", "is_on"),
    [(UNSET, False), (OFF, False), (AUTO, True), (think("xhigh"), True), (think(5), True)],
)
async def test_ollama_request_has_the_think_flag(parameters: dict[str, Any], is_on: bool):
    assert (await get_sent_body("ollama", **parameters))["think"] is is_on


@pytest.mark.parametrize("value", ["loud", 0, -1, True, [], {"effort": "loud"}, {"effort": {}}])
async def test_unknown_reasoning_effort_is_a_bad_request(value: Any):
    with run_vendor("openai") as standin:
        error, _ = await get_failure(make_provider(standin, {"reasoning": value}))
        assert standin.requests == []
    assert error.kind is FailureKind.BAD_REQUEST
    assert "model.parameters.reasoning is " in str(error)

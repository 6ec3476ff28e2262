from __future__ import annotations

from typing import Any

import pytest

from jpweb.agent.errors import FailureKind
from tests.agent.providers.conversing import (
    MODELS,
    VENDORS,
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
        ("llamacpp", "", {"max_tokens": 4000, "temperature": 0.5, "stop": ["END"]}),
        ("openai", "gpt-4.1", {"max_output_tokens": 4000, "temperature": 0.5, "top_p": 0.9}),
        ("openrouter", "", {"temperature": 0.5, "top_p": 0.9, "stop": ["END"]}),
    ],
)
async def test_parameters_have_the_vendor_s_names(name: str, model: str, expected: Any):
    body = await get_sent_body(name, model, **EVERY)
    assert body.items() >= (expected | {"jpweb_canary": True}).items()


async def test_ollama_has_its_parameters_among_the_options():
    parameters = EVERY | {"context_window": 32768, "keep_alive": "10m"}
    body = await get_sent_body("ollama", **parameters)
    assert body["options"] == {
        "num_ctx": 32768,
        "num_predict": 4000,
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 40,
        "stop": ["END"],
    }
    assert (body["keep_alive"], body["jpweb_canary"]) == ("10m", True)


@pytest.mark.parametrize(("window", "keep_alive"), [("big", 600), (True, ""), (0, None)])
async def test_ollama_request_has_no_parameters_beyond_those_of_jp(window: Any, keep_alive: Any):
    body = await get_sent_body("ollama", context_window=window, keep_alive=keep_alive)
    assert body["options"] == {}
    assert "keep_alive" not in body


async def test_google_has_its_parameters_in_a_place_of_their_own():
    body = await get_sent_body("google", **EVERY)
    assert body["jpweb_canary"] is True
    config = body["generationConfig"]
    assert (config["maxOutputTokens"], config["temperature"]) == (4000, 0.5)
    assert (config["topP"], config["topK"], config["stopSequences"]) == (0.9, 40, ["END"])


@pytest.mark.parametrize("name", VENDORS)
async def test_request_without_parameters_sends_no_temperature(name: str):
    assert "temperature" not in str(await get_sent_body(name))


async def get_cached_body(name: str, **fields: Any) -> Any:
    with run_vendor(name, [Reply(Say("Hello"))]) as standin:
        await receive_events(make_provider(standin), make_request(**fields))
        return standin.requests[0].body


@pytest.mark.parametrize(
    ("cache", "times"), [(True, {"5m"}), ("5m", {"5m"}), ("1h", {"1h"}), (False, set())]
)
async def test_anthropic_is_asked_to_cache_the_prompt(cache: bool | str, times: set[str]):
    body = str(await get_cached_body("anthropic", cache=cache))
    assert ("cache_control" in body) is bool(times)
    assert {time for time in ("5m", "1h") if f"'ttl': '{time}'" in body} <= times
    assert ("'ttl': '1h'" in body) is (times == {"1h"})


@pytest.mark.parametrize("cache", [True, "1h", False])
async def test_openai_request_has_the_cache_key(cache: bool | str):
    body = await get_cached_body("openai", cache=cache, cache_key="jp:conversation:1")
    assert body.get("prompt_cache_key") == ("jp:conversation:1" if cache else None)


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"openai"}))
async def test_cache_key_is_sent_to_openai_only(name: str):
    body = await get_cached_body(name, cache_key="jp:conversation:1")
    assert "jp:conversation:1" not in str(body)


@pytest.mark.parametrize("name", VENDORS)
@pytest.mark.parametrize(
    ("parameter", "value", "kind"),
    [
        ("max_tokens", "x", "a number of tokens"),
        ("max_tokens", True, "a number of tokens"),
        ("max_tokens", -1, "a number of tokens"),
        ("temperature", "hot", "a number"),
        ("top_p", [1], "a number"),
        ("top_k", 1.5, "a whole number"),
        ("stop_words", "END", "a list of strings"),
        ("stop_words", [1], "a list of strings"),
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

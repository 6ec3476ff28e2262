"""How long vendors ask to wait before a retry (docs/jp-format.md, Retries)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from jpweb.agent.config import ModelConfig
from jpweb.agent.errors import FailureKind
from jpweb.agent.providers.adapter.factory import ModelEndpoint
from tests.agent.providers.conversing import VENDORS, get_failure, make_provider
from tests.machine.vendors import Failure, Reply, Say, run_vendor

#: The Unix time 1795754100.
DATE = "Fri, 27 Nov 2026 04:35:00 GMT"
SLOW_DOWN = "Rate limit reached. Please try again in 19.2s."
#: Errors in the middle of a stream, in each vendor's form.
IN_STREAM: dict[str, dict[str, Any]] = {
    "anthropic": {"type": "rate_limit_error", "message": SLOW_DOWN},
    "google": {"code": 503, "message": SLOW_DOWN, "status": "UNAVAILABLE"},
    "llamacpp": {"code": 503, "message": SLOW_DOWN, "type": "unavailable_error"},
    "ollama": {"error": SLOW_DOWN},
    "openai": {"code": "server_error", "message": SLOW_DOWN},
    "openrouter": {"code": 502, "message": SLOW_DOWN},
}


def read_advice(error: Any, provider: str = "openai") -> float | None:
    from jpweb.agent.providers.adapter.error_mapping import map_error  # noqa: PLC0415  slow to load

    endpoint = ModelEndpoint("A vendor", ModelConfig(provider, "m"), "https://example.org")
    return map_error(error, endpoint).retry_after


def make_http_error(headers: Mapping[str, str]) -> Any:
    from pydantic_ai.exceptions import ModelHTTPError  # noqa: PLC0415  slow to load

    return ModelHTTPError(429, "m", {"message": "Slow down"}, headers=headers)


def make_stream_error(message: str, body: Any = None, **fields: Any) -> Any:
    from pydantic_ai.exceptions import ModelAPIError  # noqa: PLC0415  slow to load

    return ModelAPIError("m", message, body=body, in_stream=True, **fields)


@pytest.mark.parametrize("name", VENDORS)
async def test_a_fraction_of_a_second_counts_for_every_vendor(name: str):
    failure = Failure(503, {"error": {"message": "Overloaded"}}, {"retry-after": "7.5"})
    with run_vendor(name, [failure]) as standin:
        error, _ = await get_failure(make_provider(standin))
    assert (error.kind, error.retry_after) == (FailureKind.UNAVAILABLE, 7.5)


@pytest.mark.parametrize("name", VENDORS)
async def test_advice_in_the_text_of_an_error_inside_a_stream_counts(name: str):
    with run_vendor(name, [Reply(Say("Half"), end=IN_STREAM[name])]) as standin:
        error, _ = await get_failure(make_provider(standin))
    assert error.retry_after == 20


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "1500", "retry-after": "7.5"}, 1.5),
        ({"retry-after": "7", "ratelimit": '"default";r=0;t=50'}, 7),
        ({"retry-after": "0.0"}, 0),
        ({"RateLimit": '"default";r=0;t=50', "x-ratelimit-reset-tokens": "2s"}, 50),
        ({"x-ratelimit-reset-requests": "2s", "x-ratelimit-reset-tokens": "6m0s"}, 360),
        ({"x-ratelimit-reset-requests": "200ms"}, 1),
        ({"x-ratelimit-reset-tokens": "1h0m1.5s"}, 3602),
        ({"x-ratelimit-reset-tokens": "12"}, 12),
    ],
)
def test_retry_advice_reads_headers_in_order(headers, seconds):
    assert read_advice(make_http_error(headers)) == seconds


@pytest.mark.parametrize("reset", ["1795754130", "1795754130000"])
def test_the_time_at_which_a_limit_ends_counts_by_the_vendors_clock(reset: str):
    assert read_advice(make_http_error({"date": DATE, "x-ratelimit-reset": reset})) == 30


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"retry-after": "soon"},
        {"retry-after": "-1.5"},
        {"retry-after": "nan"},
        {"retry-after": "1e999"},
        {"ratelimit": '"default";r=0'},
        {"ratelimit": f"default;t={'9' * 400}"},
        {"x-ratelimit-reset-requests": "6 minutes", "x-ratelimit-reset-tokens": "-2s"},
        {"x-ratelimit-reset-requests": f"{'9' * 400}s"},
        {"date": DATE, "x-ratelimit-reset": "1795754099"},
        {"date": DATE, "x-ratelimit-reset": "inf"},
        {"date": "Fri, 27 Nov 99999999999 04:35:00 GMT", "x-ratelimit-reset": "1795754130"},
        {"x-ratelimit-reset": "1795754130"},
    ],
)
def test_a_header_without_a_finite_time_to_come_is_no_advice(headers):
    assert read_advice(make_http_error(headers)) is None


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Please retry after 5", 5),
        ("Retry after 12 seconds.", 12),
        ("You must wait 30 seconds", 30),
        ("Please wait 2 minutes.", 120),
        ("try again in 1m30.5s", 91),
        ("Try again in 350ms.", 1),
        ("try again in a while", None),
        ("try again in 1.2.3 s", None),
        (f"wait {'1' * 100_000}x", None),
    ],
)
def test_texts_of_errors_inside_a_stream_are_read(message, seconds):
    assert read_advice(make_stream_error(message)) == seconds


def test_googles_delay_is_read_from_the_body_of_an_error_inside_a_stream():
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "30s"}]
    assert read_advice(make_stream_error("Exhausted", {"details": details})) == 30


async def test_an_overload_inside_a_stream_of_anthropic_is_given_three_seconds():
    overloaded = {"type": "overloaded_error", "message": "Overloaded"}
    with run_vendor("anthropic", [Reply(Say("Half"), end=overloaded)]) as standin:
        error, _ = await get_failure(make_provider(standin))
    assert error.retry_after == 3


@pytest.mark.parametrize(
    ("provider", "type_", "seconds"),
    [
        ("anthropic", "overloaded_error", 3),
        ("anthropic", "api_error", 3),
        ("anthropic", "invalid_request_error", None),
        ("openai", "rate_limit_error", None),
    ],
)
def test_retry_advice_is_three_seconds_for_anthropic_overload_only(provider, type_, seconds):
    error = make_stream_error("Overloaded", provider_error_type=type_)
    assert read_advice(error, provider) == seconds

from __future__ import annotations

import math
from typing import Any

import pytest

from jpweb.agent.errors import FailureKind
from jpweb.agent.ports import CompleteToolCall, TextDelta
from jpweb.agent.provider_info import PROVIDER_INFO
from tests.agent.providers.conversing import (
    KEY,
    MODELS,
    PROTOCOLS,
    SCHEMA,
    TOOL,
    VENDORS,
    get_failure,
    join_text,
    make_provider,
    make_request,
)
from tests.machine.ports import free_port
from tests.machine.sizes import mark_proof
from tests.machine.vendors import Call, Failure, Reply, Say, Standin, Think, run_vendor

NAMES = sorted(MODELS)
#: Vendors that send a call's arguments as pieces of text; the others send calls whole.
WITH_TEXT_ARGUMENTS = [name for name in NAMES if name not in ("google", "ollama")]


def wrap_error(name: str, message: str, type_: str, status: int = 400) -> Any:
    """Return an error's body as the vendor wraps it."""
    if name == "anthropic":
        return {"type": "error", "error": {"type": type_, "message": message}}
    if name == "google":
        return {"error": {"code": status, "message": message, "status": type_}}
    if name == "ollama":
        return {"error": message}
    return {"error": {"message": message, "type": type_, "code": type_, "param": None}}


TOO_LONG = {
    "anthropic": ("prompt is too long: 208310 tokens > 200000 maximum", "invalid_request_error"),
    "google": (
        "The input token count (1098765) exceeds the maximum number of tokens allowed (1048576).",
        "INVALID_ARGUMENT",
    ),
    "llamacpp": (
        "the request exceeds the available context size, try increasing it",
        "exceed_context_size_error",
    ),
    "ollama": ("the input length exceeds the context length", ""),
    "openai": ("Your input exceeds the context window of this model.", "context_length_exceeded"),
    "openrouter": (
        "This endpoint's maximum context length is 200000 tokens. However, you requested more.",
        "invalid_request_error",
    ),
}


@pytest.mark.parametrize("name", NAMES)
async def test_a_conversation_that_is_too_long(name: str):
    with run_vendor(name, [Failure(400, wrap_error(name, *TOO_LONG[name]))]) as standin:
        error, _ = await get_failure(make_provider(standin))
    assert error.kind is FailureKind.CONTEXT_LENGTH
    assert "Compact it" in str(error)


@pytest.mark.parametrize("name", VENDORS)
async def test_a_request_too_large_for_the_door_is_too_long_as_well(name: str):
    with run_vendor(
        name, [Failure(413, wrap_error(name, "Too large", "request_too_large", 413))]
    ) as s:
        error, _ = await get_failure(make_provider(s))
    assert error.kind is FailureKind.CONTEXT_LENGTH


@pytest.mark.parametrize("name", VENDORS)
async def test_a_rate_limit_says_how_long_to_wait(name: str):
    body = wrap_error(name, "Slow down", "rate_limit_error", 429)
    with run_vendor(name, [Failure(429, body, {"retry-after": "17"})]) as standin:
        error, _ = await get_failure(make_provider(standin))
        assert len(standin.requests) == 1  # only the turn repeats a request
    assert (error.kind, error.retry_after) == (FailureKind.RATE_LIMIT, 17)
    assert PROVIDER_INFO[name].title in str(error)
    assert "Slow down" in str(error)


@pytest.mark.parametrize("name", VENDORS)
@pytest.mark.parametrize("status", [401, *mark_proof(403)])
async def test_a_wrong_key_is_named_and_not_shown(name: str, status: int):
    body = wrap_error(name, f"Incorrect API key provided: {KEY}", "authentication_error", status)
    with run_vendor(name, [Failure(status, body)]) as standin:
        error, _ = await get_failure(make_provider(standin, api_key_env="MY_KEY"))
    assert error.kind is FailureKind.WRONG_KEY
    assert "Check MY_KEY" in str(error)
    assert KEY not in str(error)


async def test_google_refuses_a_key_as_a_bad_request():
    body = wrap_error(
        "google", "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT"
    )
    with run_vendor("google", [Failure(400, body)]) as standin:
        error, _ = await get_failure(make_provider(standin))
    assert error.kind is FailureKind.WRONG_KEY
    assert "GEMINI_API_KEY" in str(error)


@pytest.mark.parametrize("name", VENDORS)
@pytest.mark.parametrize("status", [503, 529, *mark_proof(408, 500, 502)])
async def test_a_vendor_in_trouble_is_unavailable(name: str, status: int):
    with run_vendor(name, [Failure(status, "<html>Bad gateway</html>")]) as standin:
        error, _ = await get_failure(make_provider(standin))
        assert len(standin.requests) == 1
    assert error.kind is FailureKind.UNAVAILABLE
    assert standin.base_url in str(error)


@pytest.mark.parametrize("name", VENDORS)
async def test_closed_port_is_reported_as_unavailable(name: str):
    standin = Standin(name, f"http://127.0.0.1:{free_port()}", [])
    error, _ = await get_failure(make_provider(standin))
    assert error.kind is FailureKind.UNAVAILABLE


@pytest.mark.parametrize("name", VENDORS)
async def test_a_name_that_is_nowhere(name: str):
    error, _ = await get_failure(make_provider(Standin(name, "http://jpweb.invalid", [])))
    assert error.kind is FailureKind.UNAVAILABLE


@pytest.mark.parametrize("name", VENDORS)
async def test_invalid_address_fails_with_the_providers_title(name: str):
    error, _ = await get_failure(make_provider(Standin(name, "ftp://127.0.0.1/v1", [])))
    assert error.kind in (FailureKind.BAD_REQUEST, FailureKind.UNAVAILABLE)
    assert PROVIDER_INFO[name].title in str(error)


@pytest.mark.parametrize("name", VENDORS)
async def test_silence_becomes_unavailable(name: str, monkeypatch: pytest.MonkeyPatch):
    import httpx2  # noqa: PLC0415  the library of providers is slow to load

    from jpweb.agent.providers.adapter import model_request  # noqa: PLC0415  the same

    monkeypatch.setattr(model_request, "REQUEST_TIMEOUT", httpx2.Timeout(0.3))
    with run_vendor(name, [Reply(end="hang")]) as standin:
        error, _ = await get_failure(make_provider(standin))
    assert error.kind is FailureKind.UNAVAILABLE


@pytest.mark.parametrize("name", VENDORS)
async def test_a_reply_in_which_nothing_arrives_for_too_long_fails(name: str):
    request = make_request(idle_seconds=0.3)
    with run_vendor(name, [Reply(end="hang")]) as standin:
        error, _ = await get_failure(make_provider(standin), request)
    assert error.kind is FailureKind.UNAVAILABLE


@pytest.mark.parametrize("name", VENDORS)
@pytest.mark.parametrize("status", [400, *mark_proof(404, 422)])
async def test_other_http_error_is_a_bad_request_with_the_vendors_text(name: str, status: int):
    body = wrap_error(name, "x" * 2000, "invalid_request_error", status)
    with run_vendor(name, [Failure(status, body)]) as standin:
        error, _ = await get_failure(make_provider(standin))
    assert error.kind is FailureKind.BAD_REQUEST
    assert MODELS[name] in str(error)
    assert "xxx" in str(error)
    assert len(str(error)) < 700


async def test_an_account_without_credit_is_not_asked_again():
    body = wrap_error("openai", "You exceeded your current quota", "insufficient_quota", 429)
    with run_vendor("openai", [Failure(429, body)]) as standin:
        error, _ = await get_failure(make_provider(standin))
    assert error.kind is FailureKind.BAD_REQUEST
    assert "current quota" in str(error)


async def test_unknown_http_status_is_a_bad_request():
    with run_vendor("anthropic", [Failure(418, {"detail": "I am a teapot"})]) as standin:
        error, _ = await get_failure(make_provider(standin))
    assert error.kind is FailureKind.BAD_REQUEST
    assert "teapot" in str(error)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "ollama"])
async def test_a_vendor_that_refuses_to_answer(name: str):
    with run_vendor(name, [Reply(Say("I"), end="refusal")]) as standin:
        error, _ = await get_failure(make_provider(standin))
    assert error.kind is FailureKind.REFUSAL
    assert PROVIDER_INFO[name].title in str(error)


async def test_openai_refusal_is_reported_with_its_text():
    with run_vendor("openai", [Reply(end="refusal")]) as standin:
        error, _ = await get_failure(make_provider(standin))
    assert str(error).endswith("Details: I will not.")


async def test_openrouter_s_moderation_is_a_refusal():
    metadata = {"reasons": ["violence"], "flagged_input": "…", "provider_name": "Somebody"}
    body = {"error": {"code": 403, "message": "Input was flagged", "metadata": metadata}}
    with run_vendor("openrouter", [Failure(403, body)]) as standin:
        error, _ = await get_failure(make_provider(standin))
    assert error.kind is FailureKind.REFUSAL


@pytest.mark.parametrize("name", VENDORS)
async def test_text_cut_off_at_the_limit_stays(name: str):
    with run_vendor(name, [Reply(Say("Half a sent"), end="length")]) as standin:
        error, before = await get_failure(make_provider(standin))
    assert error.kind is FailureKind.TRUNCATED
    assert join_text(before, "message") == "Half a sent"
    assert "max_tokens" in str(error)


@pytest.mark.parametrize("name", WITH_TEXT_ARGUMENTS)
@pytest.mark.parametrize("raw", ['{"path": "b', ""])
async def test_a_call_cut_off_at_the_limit_never_happened(name: str, raw: str):
    calls = Call("fs_read", {"path": "a"}), Call("fs_read", raw=raw, id="call_2")
    with run_vendor(name, [Reply(*calls, end="length")]) as standin:
        error, before = await get_failure(make_provider(standin))
    assert error.kind is FailureKind.TRUNCATED
    assert [e.id for e in before if isinstance(e, CompleteToolCall)] == ["call_1"]


NESTED = '{"a":' * 100_000


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        *(('{"path": }', name) for name in WITH_TEXT_ARGUMENTS),
        ("[1]", "openai"),
        pytest.param(NESTED, "anthropic", id="nested-anthropic"),
        *mark_proof(*(("[1]", name) for name in WITH_TEXT_ARGUMENTS if name != "openai")),
        *mark_proof(*((NESTED, name) for name in WITH_TEXT_ARGUMENTS if name != "anthropic")),
    ],
)
async def test_a_call_that_is_no_json_object_never_happened(name: str, raw: str):
    with run_vendor(name, [Reply(Call("fs_read", raw=raw))]) as standin:
        error, before = await get_failure(make_provider(standin))
    assert error.kind is FailureKind.TRUNCATED
    assert "max_tokens" not in str(error)
    assert "called the tool “fs_read” with arguments that are not a JSON object" in str(error)
    assert [e for e in before if isinstance(e, CompleteToolCall)] == []


@pytest.mark.parametrize("name", VENDORS)
async def test_text_before_a_call_with_an_infinite_argument_is_received(name: str):
    reply = Reply(Say("Reading."), Call("fs_read", {"n": math.inf}))
    with run_vendor(name, [reply]) as standin:
        error, before = await get_failure(make_provider(standin))
    assert error.kind is FailureKind.TRUNCATED
    assert join_text(before, "message") == "Reading."
    assert [e for e in before if isinstance(e, CompleteToolCall)] == []


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("end", ["silent", "cut"])
async def test_a_stream_without_its_end_is_broken_off(name: str, end: Any):
    with run_vendor(name, [Reply(Think("Hm"), Say("Half a sent"), end=end)]) as standin:
        error, before = await get_failure(make_provider(standin))
    assert error.kind is FailureKind.BROKEN_OFF
    assert any(isinstance(event, TextDelta) for event in before)


@pytest.mark.parametrize("name", VENDORS)
async def test_a_call_of_a_stream_without_its_end_never_happened(name: str):
    with run_vendor(name, [Reply(Call("fs_read", {"path": "a"}), end="silent")]) as standin:
        error, before = await get_failure(make_provider(standin))
    assert error.kind is FailureKind.BROKEN_OFF
    assert [e for e in before if isinstance(e, CompleteToolCall)] == []


OVERLOADED: dict[str, dict[str, Any]] = {
    "anthropic": {"type": "overloaded_error", "message": "Overloaded"},
    "google": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"},
    "llamacpp": {"code": 503, "message": "Overloaded", "type": "unavailable_error"},
    "ollama": {"error": "Overloaded"},
    "openai": {"code": "server_error", "message": "Overloaded"},
    "openrouter": {"code": 502, "message": "Provider overloaded"},
}


@pytest.mark.parametrize("name", PROTOCOLS)
async def test_trouble_in_the_middle_of_a_stream(name: str):
    with run_vendor(name, [Reply(Say("Half"), end=OVERLOADED[name])]) as standin:
        error, before = await get_failure(make_provider(standin))
    assert error.kind is FailureKind.UNAVAILABLE
    assert join_text(before, "message") == "Half"
    assert "verloaded" in str(error)


async def test_error_of_the_provider_library_is_a_bad_request():
    with run_vendor("anthropic") as standin:
        provider = make_provider(standin, {"reasoning": "off"})
        tool_request = make_request(tool_choice="not_offered", tools=(TOOL,))
        error, _ = await get_failure(provider, tool_request)
        assert standin.requests == []
    assert error.kind is FailureKind.BAD_REQUEST


async def test_an_effort_that_there_is_not_is_named():
    with run_vendor("openai") as standin:
        error, _ = await get_failure(make_provider(standin, {"reasoning": {"effort": "enormous"}}))
        assert standin.requests == []
    assert error.kind is FailureKind.BAD_REQUEST
    assert "'enormous'" in str(error)


async def test_local_server_that_requires_a_key_fails_with_wrong_key():
    body = wrap_error("llamacpp", "Invalid API Key", "authentication_error", 401)
    with run_vendor("llamacpp", [Failure(401, body)]) as standin:
        error, _ = await get_failure(make_provider(standin, key=None))
    assert error.kind is FailureKind.WRONG_KEY
    assert "settings" in str(error)


@pytest.mark.parametrize(
    ("name", "model", "message"),
    [
        ("openrouter", "claude", "must be prefixed"),
        ("google", "gemini/x?y", "invalid model"),
    ],
)
async def test_a_model_that_cannot_be_asked_for_is_a_bad_request(
    name: str, model: str, message: str
):
    with run_vendor(name) as standin:
        error, _ = await get_failure(make_provider(standin, model=model))
        assert standin.requests == []
    assert error.kind is FailureKind.BAD_REQUEST
    assert model in str(error)
    assert message in str(error)


@pytest.mark.parametrize("name", VENDORS)
async def test_an_address_that_cannot_be_read_is_a_bad_request(name: str):
    error, _ = await get_failure(make_provider(Standin(name, "http://[::1", [])))
    assert error.kind is FailureKind.BAD_REQUEST


@pytest.mark.parametrize("name", VENDORS)
async def test_a_structured_reply_ends_where_it_gets_longer_than_it_may(name: str):
    pieces = Say('{"answer": true}' + " " * 100_000), Call("reply", {"answer": "x" * 100_000})
    for piece in pieces:
        with run_vendor(name, [Reply(piece, end="hang")]) as standin:
            schema_request = make_request(tools=(), schema=SCHEMA, max_bytes=1000)
            error, before = await get_failure(make_provider(standin), schema_request)
        assert error.kind is FailureKind.TRUNCATED
        assert (
            str(error) == f"The reply from {PROVIDER_INFO[name].title} is larger than 1000 bytes."
        )
        assert before == []

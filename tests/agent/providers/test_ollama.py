"""Ollama's own API, where no other vendor's test reaches."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from jpweb.agent.errors import FailureKind
from jpweb.agent.ports import CompleteToolCall
from jpweb.stream.events import ChatRequest, ChatResponse, ToolCallRequest, ToolCallResponse
from tests.agent.providers.conversing import (
    MODELS,
    get_failure,
    join_text,
    make_event,
    make_provider,
    make_request,
    receive_events,
)
from tests.machine.vendors import Call, Failure, Reply, Say, Think, run_vendor


@asynccontextmanager
async def open_model(standin: Any) -> AsyncIterator[Any]:
    import httpx2  # noqa: PLC0415  the library of providers is slow to load

    from jpweb.agent.providers.ollama import OllamaChatModel  # noqa: PLC0415  the same

    async with httpx2.AsyncClient() as http:
        yield OllamaChatModel(MODELS["ollama"], standin.base_url, http)


async def test_ollama_request_without_streaming_returns_all_parts():
    from pydantic_ai.direct import model_request  # noqa: PLC0415  as above
    from pydantic_ai.messages import ModelRequest  # noqa: PLC0415  as above

    with run_vendor("ollama", [Reply(Think("Hm"), Say("Yes."), Call("fs_read"))]) as standin:
        messages = [ModelRequest.user_text_prompt("Hello")]
        async with open_model(standin) as model:
            reply = await model_request(model, messages)
    assert [part.part_kind for part in reply.parts] == ["thinking", "text", "tool-call"]
    assert (reply.model_name, reply.provider_name) == ("qwen3", "ollama")


async def test_a_stream_that_is_closed_ends_the_connection():
    from pydantic_ai.direct import model_request_stream  # noqa: PLC0415  as above
    from pydantic_ai.messages import ModelRequest  # noqa: PLC0415  as above

    with run_vendor("ollama", [Reply(Say("Yes."), end="hang")]) as standin:
        messages = [ModelRequest.user_text_prompt("Hello")]
        async with (
            open_model(standin) as model,
            model_request_stream(model, messages) as stream,
        ):
            await anext(aiter(stream))
            await stream.close_stream()
        assert standin.hangup_event.wait(10)


async def test_a_part_that_no_thread_has_is_refused():
    from pydantic_ai.direct import model_request  # noqa: PLC0415  as above
    from pydantic_ai.messages import (  # noqa: PLC0415  as above
        ImageUrl,
        ModelRequest,
        UserPromptPart,
    )

    picture = UserPromptPart([ImageUrl("https://picture.example/a.png")])
    with run_vendor("ollama") as standin:
        async with open_model(standin) as model:
            with pytest.raises(TypeError, match="no part of a thread"):
                await model_request(model, [ModelRequest([picture])])


async def test_ollama_error_body_is_read_up_to_a_limit():
    with run_vendor("ollama", [Failure(400, "x" * 1_000_000)]) as standin:
        error, _ = await get_failure(make_provider(standin))
    assert error.kind is FailureKind.BAD_REQUEST
    assert len(str(error)) < 1_000


@pytest.mark.parametrize("name", ["llamacpp", "ollama"])
async def test_reasoning_without_text_is_not_sent_back(name: str):
    events = (
        make_event(ChatRequest("Hello")),
        make_event(ChatResponse("reasoning", " ")),
        make_event(ToolCallRequest("call_1", "fs_read", {})),
        make_event(ToolCallResponse("call_1", "one", is_error=False)),
    )
    with run_vendor(name, [Reply(Say("."))]) as standin:
        await receive_events(make_provider(standin), make_request(*events))
        reply = standin.requests[0].body["messages"][2]
    assert {"thinking", "reasoning_content"} & reply.keys() == set()


@pytest.mark.parametrize("depth", [126, 400, 930, 100_000])
async def test_arguments_nested_too_deeply_fail_the_reply_after_its_text(depth: int):
    call = Call("fs_read", raw=f'{{"n": {"[" * (depth - 1)}{"]" * (depth - 1)}}}')
    with run_vendor("ollama", [Reply(Say("Reading."), call)]) as standin:
        error, before = await get_failure(make_provider(standin))
    assert error.kind in (FailureKind.TRUNCATED, FailureKind.BROKEN_OFF)
    assert join_text(before, "message") == "Reading."
    assert [event for event in before if isinstance(event, CompleteToolCall)] == []

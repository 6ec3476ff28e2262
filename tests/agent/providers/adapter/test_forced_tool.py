"""A forced tool beside reasoning, where the vendor refuses both together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jpweb.agent.providers.adapter.messages import CONTINUE_TEXT
from jpweb.stream.events import ChatRequest, ChatResponse
from tests.agent.providers.conversing import (
    TOOL,
    make_event,
    make_provider,
    make_request,
    receive_events,
)
from tests.machine.vendors import Reply, Say, run_vendor


@pytest.mark.parametrize("name", ["anthropic", "google", "openai", "ollama"])
@pytest.mark.parametrize(("nudge_count", "words"), [(1, "You did not"), (2, "twice"), (3, "final")])
async def test_forced_tool_is_requested_more_firmly_after_replies_without_it(
    name: str, nudge_count: int, words: str
):
    said = make_event(ChatResponse("message", "I would rather talk."))
    with run_vendor(name, [Reply(Say("."))]) as standin:
        request = make_request(
            *(make_event(ChatRequest("Read it.")), said),
            tool_choice="fs_read",
            nudge_count=nudge_count,
        )
        await receive_events(make_provider(standin), request)
        body = standin.requests[0].body
    last = body.get("messages") or body.get("contents") or body["input"]
    assert words in str(last[-1])
    assert "fs_read" in str(last[-1])


@pytest.mark.parametrize("name", ["anthropic", "google", "openai", "ollama"])
async def test_forced_tool_reply_cut_off_after_the_call_is_continued(name: str):
    said = make_event(ChatResponse("message", "The file says"))
    with run_vendor(name, [Reply(Say("."))]) as standin:
        request = make_request(
            make_event(ChatRequest("Read it.")), said, tool_choice="auto", nudge_count=1
        )
        await receive_events(make_provider(standin), request)
        body = standin.requests[0].body
    last = body.get("messages") or body.get("contents") or body["input"]
    assert CONTINUE_TEXT in str(last[-1])


@pytest.mark.parametrize("name", ["anthropic", "openrouter"])
@pytest.mark.parametrize(
    ("choice", "wanted"), [("required", "one of your tools"), ("fs_read", "the tool “fs_read”")]
)
async def test_a_forced_tool_is_asked_for_in_words_where_the_model_reasons(
    name: str, choice: str, wanted: str
):
    with run_vendor(name, [Reply(Say("."))]) as standin:
        await receive_events(
            make_provider(standin, {"reasoning": {"effort": "low"}}),
            make_request(tool_choice=choice),
        )
        body = standin.requests[0].body
    assert body.get("tool_choice") in ({"type": "auto"}, "auto", None)
    system = body["system"] if name == "anthropic" else [body["messages"][0]]
    nudge = system[-1 if name == "anthropic" else 0]
    assert f"You must call {wanted}" in str(nudge) or f"must call at least {wanted}" in str(nudge)
    assert "reasoning" in body or body["thinking"]["type"] == "adaptive"


async def test_tool_that_is_forced_by_its_name_is_offered_alone_to_llamacpp():
    tools = (TOOL, replace(TOOL, name="fs_write"))
    with run_vendor("llamacpp", [Reply(Say("."))]) as standin:
        request = make_request(tool_choice="fs_read", tools=tools)
        await receive_events(make_provider(standin, {"reasoning": "off"}), request)
        body = standin.requests[0].body
    assert [tool["function"]["name"] for tool in body["tools"]] == ["fs_read"]
    assert body["tool_choice"] == "required"


async def test_a_forced_tool_is_asked_for_in_words_where_the_model_takes_none():
    with run_vendor("anthropic", [Reply(Say("."))]) as standin:
        provider = make_provider(standin, {"reasoning": "off"}, "claude-sonnet-5-5")
        await receive_events(provider, make_request(tool_choice="fs_read"))
        body = standin.requests[0].body
    assert body.get("tool_choice") in ({"type": "auto"}, None)
    assert "You must call the tool “fs_read”" in str(body["system"])

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jpweb.agent.providers import ollama
from jpweb.agent.providers.adapter.messages import CONTINUE_TEXT, make_messages
from jpweb.stream import wire
from jpweb.stream.events import (
    KINDS,
    ChatRequest,
    ChatResponse,
    ConversationEvent,
    ToolCallRequest,
    ToolCallResponse,
)
from jpweb.stream.thread import ThreadParts
from tests.agent.providers.conversing import MODELS, event, opened, received, request
from tests.machine.vendors import Reply, Say, vendor

ASKED = event(ChatRequest("Hello"))


async def sent(name: str, *events: ConversationEvent) -> Any:
    with vendor(name, [Reply(Say("."))]) as standin:
        await received(opened(standin), request(*events))
        return standin.requests[0].body


def test_each_kind_that_providers_may_see_is_sent_and_no_other():
    sent_tags = set()
    for path in sorted((Path(__file__).parents[3] / "samples" / "events").glob("*.json")):
        samples = wire.read_element(path.read_text()).events
        messages = make_messages(ThreadParts((), samples), ollama.VENDOR)
        parts = [part for message in messages for part in message.parts]
        if any(getattr(part, "content", "") != CONTINUE_TEXT for part in parts):
            sent_tags |= {sample.kind.TAG for sample in samples}
    assert sent_tags == {tag for tag, kind in KINDS.items() if kind.PROVIDER_VISIBLE}


async def test_data_goes_back_as_json():
    data = event(ChatResponse("data", {"answer": "ä"}))
    body = await sent("ollama", ASKED, data, ASKED)
    assert body["messages"][2] == {"role": "assistant", "content": '{"answer": "ä"}'}


async def test_a_reply_of_which_nothing_is_left_leaves_no_gap():
    thought = event(ChatResponse("reasoning", "Hm"))
    empty = event(ChatResponse("message", ""))
    body = await sent("ollama", ASKED, thought, empty, ASKED)
    assert [m["role"] for m in body["messages"]] == ["system", "user", "user"]


@pytest.mark.parametrize("name", sorted(MODELS))
async def test_text_of_whitespace_alone_is_sent_to_no_vendor(name):
    blank = " \n\u2003"
    whole = (ASKED, event(ChatResponse("message", blank)), event(ChatRequest(blank)), ASKED)
    body = str(await sent(name, *whole))
    assert repr(blank)[1:-1] not in body
    assert body.count("Hello") == 2


async def test_reasoning_that_nothing_followed_is_not_sent():
    thought = event(ChatResponse("reasoning", "Hm"), anthropic_thinking_signature="U0lH")
    said = event(ChatResponse("message", "Yes."))
    body = await sent("anthropic", ASKED, said, thought, ASKED)
    assert "Yes." in str(body)
    assert "U0lH" not in str(body)


async def test_a_result_has_the_name_of_the_latest_call_of_its_id():
    """Ollama, and JP with Google, number calls anew in each reply."""
    body = await sent(
        "google",
        ASKED,
        event(ToolCallRequest("fs_0", "fs_read", {})),
        event(ToolCallResponse("fs_0", "one", is_error=False)),
        event(ToolCallRequest("fs_0", "fs_list", {})),
        event(ToolCallResponse("fs_0", "two", is_error=False)),
        event(ToolCallResponse("gone", "three", is_error=False)),
    )
    results = [
        part["functionResponse"]["name"]
        for content in body["contents"]
        for part in content["parts"]
        if "functionResponse" in part
    ]
    assert results == ["fs_read", "fs_list", "unknown"]


async def test_a_conversation_may_begin_with_a_reply():
    """As a compacted one may."""
    body = await sent("ollama", event(ChatResponse("message", "Yes.")), ASKED)
    assert [m["role"] for m in body["messages"]] == ["system", "assistant", "user"]


@pytest.mark.parametrize("name", sorted(MODELS))
async def test_a_request_never_ends_with_a_reply(name: str):
    """Vendors refuse one that does ("must end with a user message")."""
    body = await sent(name, ASKED, event(ChatResponse("message", "Half a")))
    said = body.get("messages") or body.get("contents") or body["input"]
    assert said[-1]["role"] == "user"
    assert CONTINUE_TEXT in str(said[-1])
    assert "Half a" in str(said[-2])


async def test_google_gets_no_empty_text():
    empty = event(ChatResponse("message", ""))
    body = await sent("google", ASKED, empty, event(ChatResponse("message", "Yes.")), ASKED)
    assert body["contents"][1]["parts"] == [{"text": "Yes."}]

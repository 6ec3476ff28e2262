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
    EventKind,
    ToolCallRequest,
    ToolCallResponse,
)
from jpweb.stream.thread import ThreadParts
from tests.agent.providers.conversing import (
    VENDORS,
    make_event,
    make_provider,
    make_request,
    receive_events,
)
from tests.machine.vendors import Reply, Say, run_vendor

ASKED = make_event(ChatRequest("Hello"))


async def get_sent_body(name: str, *events: ConversationEvent) -> Any:
    with run_vendor(name, [Reply(Say("."))]) as standin:
        await receive_events(make_provider(standin), make_request(*events))
        return standin.requests[0].body


def test_make_messages_sends_provider_visible_kinds_only():
    sent_tags = set()
    for path in sorted((Path(__file__).parents[3] / "samples" / "events").glob("*.json")):
        samples = wire.read_element(path.read_text()).events
        messages = make_messages(ThreadParts((), samples), ollama.VENDOR)
        parts = [part for message in messages for part in message.parts]
        if any(getattr(part, "content", "") != CONTINUE_TEXT for part in parts):
            sent_tags |= {sample.kind.TAG for sample in samples}
    assert sent_tags == {tag for tag, kind in KINDS.items() if kind.PROVIDER_VISIBLE}


async def test_structured_data_is_sent_as_json():
    data = make_event(ChatResponse("data", {"answer": "ä"}))
    body = await get_sent_body("ollama", ASKED, data, ASKED)
    assert body["messages"][2] == {"role": "assistant", "content": '{"answer": "ä"}'}


async def test_make_messages_of_an_emptied_reply_leaves_no_gap():
    reasoning = make_event(ChatResponse("reasoning", "Hm"))
    empty = make_event(ChatResponse("message", ""))
    body = await get_sent_body("ollama", ASKED, reasoning, empty, ASKED)
    assert [m["role"] for m in body["messages"]] == ["system", "user", "user"]


@pytest.mark.parametrize("name", VENDORS)
async def test_text_of_whitespace_alone_is_sent_to_no_vendor(name):
    blank = " \n\u2003"
    events = (
        ASKED,
        make_event(ChatResponse("message", blank)),
        make_event(ChatRequest(blank)),
        ASKED,
    )
    body = str(await get_sent_body(name, *events))
    assert repr(blank)[1:-1] not in body
    assert body.count("Hello") == 2


async def test_messages_that_follow_each_other_are_one_for_llamacpp():
    """Templates of Gemma and Mistral refuse two messages of one role in a row."""
    events = (ASKED, make_event(ChatRequest("And skip the tests.")))
    body = await get_sent_body("llamacpp", *events)
    assert [m["content"] for m in body["messages"][1:]] == ["Hello\n\nAnd skip the tests."]


async def test_reasoning_that_nothing_followed_is_not_sent():
    reasoning = make_event(ChatResponse("reasoning", "Hm"), anthropic_thinking_signature="U0lH")
    reply_event = make_event(ChatResponse("message", "Yes."))
    body = await get_sent_body("anthropic", ASKED, reply_event, reasoning, ASKED)
    assert "Yes." in str(body)
    assert "U0lH" not in str(body)


async def get_sent_results(*kinds: EventKind) -> list[tuple[str, str]]:
    """Return the name and the text of each result that Google is sent."""
    body = await get_sent_body("google", ASKED, *map(make_event, kinds))
    results = [
        part["functionResponse"]
        for content in body["contents"]
        for part in content["parts"]
        if "functionResponse" in part
    ]
    return [(result["name"], *result["response"].values()) for result in results]


async def test_result_has_the_name_of_its_call_where_replies_share_ids():
    """Ollama, and JP with Google, number calls anew in each reply."""
    assert await get_sent_results(
        ToolCallRequest("fs_0", "fs_read", {}),
        ToolCallResponse("fs_0", "one", is_error=False),
        ToolCallRequest("fs_0", "fs_list", {}),
        ToolCallResponse("fs_0", "two", is_error=False),
        ToolCallResponse("gone", "three", is_error=False),
    ) == [("fs_read", "one"), ("fs_list", "two"), ("unknown", "three")]


async def test_results_of_one_id_have_the_names_of_their_calls_in_order():
    assert await get_sent_results(
        ToolCallRequest("fs_0", "fs_read", {}),
        ToolCallRequest("fs_0", "fs_list", {}),
        ToolCallResponse("fs_0", "one", is_error=False),
        ToolCallResponse("fs_0", "two", is_error=False),
    ) == [("fs_read", "one"), ("fs_list", "two")]


async def test_a_conversation_may_begin_with_a_reply():
    """As a compacted one may."""
    body = await get_sent_body("ollama", make_event(ChatResponse("message", "Yes.")), ASKED)
    assert [m["role"] for m in body["messages"]] == ["system", "assistant", "user"]


@pytest.mark.parametrize("name", VENDORS)
async def test_a_request_never_ends_with_a_reply(name: str):
    """Vendors refuse one that does ("must end with a user message")."""
    body = await get_sent_body(name, ASKED, make_event(ChatResponse("message", "Half a")))
    messages = body.get("messages") or body.get("contents") or body["input"]
    assert messages[-1]["role"] == "user"
    assert CONTINUE_TEXT in str(messages[-1])
    assert "Half a" in str(messages[-2])


async def test_google_gets_no_empty_text():
    empty = make_event(ChatResponse("message", ""))
    body = await get_sent_body(
        "google", ASKED, empty, make_event(ChatResponse("message", "Yes.")), ASKED
    )
    assert body["contents"][1]["parts"] == [{"text": "Yes."}]


@pytest.mark.parametrize(
    ("name", "field"), [("llamacpp", "reasoning_content"), ("ollama", "thinking")]
)
async def test_local_models_get_their_reasoning_back_while_they_call_tools(name: str, field: str):
    earlier, present = (
        make_event(ChatResponse("reasoning", text)) for text in ("Earlier", "Two files.")
    )
    reply = make_event(ChatResponse("message", "Yes."))
    call = make_event(ToolCallRequest("call_1", "fs_read", {}))
    result = make_event(ToolCallResponse("call_1", "one", is_error=False))
    body = await get_sent_body(name, ASKED, earlier, reply, ASKED, present, call, result)
    assert body["messages"][4][field] == "Two files."
    assert "Earlier" not in str(body)


async def test_structured_data_is_sent_to_openai_as_its_item():
    thought = make_event(
        ChatResponse("reasoning", "Hm"), openai_item_id="rs_1", openai_encrypted_content="U0lH"
    )
    data = make_event(ChatResponse("data", {"answer": True}), openai_item_id="msg_1")
    body = await get_sent_body("openai", ASKED, thought, data, ASKED)
    (item,) = [item for item in body["input"] if item.get("id") == "msg_1"]
    assert '{"answer": true}' in str(item["content"])


async def test_a_model_that_does_not_reason_gets_no_earlier_reasoning():
    thought = make_event(
        ChatResponse("reasoning", "Hm"), openai_item_id="rs_1", openai_encrypted_content="U0lH"
    )
    reply = make_event(ChatResponse("message", "Yes."), openai_item_id="msg_1")
    with run_vendor("openai", [Reply(Say("."))]) as standin:
        provider = make_provider(standin, model="gpt-4.1")
        await receive_events(provider, make_request(ASKED, thought, reply, ASKED))
        body = str(standin.requests[0].body)
    assert "Yes." in body
    assert "Hm" not in body
    assert "<think>" not in body


@pytest.mark.parametrize(
    "places",
    ["no list", [], ["no table"], [{"field": 5}], [{"field": "unknown"}], [{"field": "absent"}],
     [{"field": "anthropic_thinking_signature"}]],
)  # fmt: skip
async def test_metadata_of_openrouter_that_names_no_signature_sends_nothing(places: Any):
    thought = make_event(
        ChatResponse("reasoning", "Hm"),
        openrouter_metadata=places,
        anthropic_thinking_signature=["U0lH"],
    )
    reply = make_event(ChatResponse("message", "Yes."))
    body = str(await get_sent_body("openrouter", ASKED, thought, reply, ASKED))
    assert "Yes." in body
    assert "U0lH" not in body

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from jpweb.agent.errors import FailureKind
from jpweb.agent.ports import (
    CompleteToolCall,
    PartialToolCall,
    ReplyFinished,
    ReplyMetadata,
    StructuredReply,
    TextDelta,
)
from jpweb.stream.events import ChatRequest, ChatResponse, ToolCallResponse
from jpweb.stream.inquiry import InquiryRequest, InquirySource
from tests.agent.providers.conversing import (
    PROTOCOLS,
    SCHEMA,
    TOOL,
    VENDORS,
    Recorded,
    get_failure,
    join_text,
    load_vendor,
    make_event,
    make_provider,
    make_request,
    receive_events,
    without_callings,
)
from tests.machine.vendors import Call, Reply, Say, Think, run_vendor

SIGNED = "U0lHTkVE"
CALLED = "Q0FMTEVE"
FIRST = Reply(
    Think("Two files.", SIGNED),
    Say("Reading both.", SIGNED, phase="commentary"),
    Call("fs_read", {"path": "a.rs"}, "call_1", CALLED),
    Call("fs_read", {"path": "b.rs"}, "call_2"),
)
RESULTS = (
    make_event(ToolCallResponse("call_1", "fn main() {}", is_error=False)),
    make_event(ToolCallResponse("call_2", "no such file", is_error=True)),
)


async def second_request(name: str, **parameters: Any) -> Any:
    """Return the body that follows FIRST and its results."""
    with run_vendor(name, [FIRST, Reply(Say("Done."))]) as standin:
        provider = make_provider(standin, parameters)
        request_event = make_event(ChatRequest("Check both"))
        reply_events = Recorded().take(await receive_events(provider, make_request(request_event)))
        await receive_events(provider, make_request(request_event, *reply_events, *RESULTS))
        return standin.requests[1].body


@pytest.mark.parametrize("name", PROTOCOLS)
async def test_reasoning_text_and_parallel_calls_come_piece_by_piece(name: str):
    with run_vendor(name, [FIRST]) as standin:
        events = await receive_events(make_provider(standin))
    assert join_text(events, "reasoning") == "Two files."
    assert join_text(events, "message") == "Reading both."
    assert len([e for e in events if isinstance(e, TextDelta)]) > 4
    calls = [(e.id, e.name, e.arguments) for e in events if isinstance(e, CompleteToolCall)]
    assert calls == [
        ("call_1", "fs_read", {"path": "a.rs"}),
        ("call_2", "fs_read", {"path": "b.rs"}),
    ]
    assert events[-1] == ReplyFinished()
    kinds = [type(e) for e in events]
    assert kinds.index(TextDelta) < kinds.index(PartialToolCall) < kinds.index(CompleteToolCall)


@pytest.mark.parametrize("name", VENDORS)
async def test_arguments_are_shown_as_far_as_they_have_come(name: str):
    with run_vendor(name, [FIRST]) as standin:
        partial_calls = [
            e
            for e in await receive_events(make_provider(standin))
            if isinstance(e, PartialToolCall)
        ]
    assert PartialToolCall("fs_read", '{"path": "a.rs"}') in partial_calls
    assert PartialToolCall("fs_read", '{"path": "b.rs"}') in partial_calls


@pytest.mark.parametrize("name", VENDORS)
async def test_prompt_tools_and_key_reach_the_vendor(name: str):
    with run_vendor(name, [Reply(Say("Hello"))]) as standin:
        await receive_events(make_provider(standin, {"max_tokens": 2000}))
        request = standin.requests[0]
    text = str(request.body)
    assert "Be brief." in text
    assert "Reads a file." in text
    assert "2000" in text
    assert any("sk-canary-7f3a" in value for value in request.headers.values())
    assert "sk-canary-7f3a" not in text


async def test_anthropic_gets_its_signature_and_results_back():
    body = await second_request("anthropic", reasoning={"effort": "low"}, max_tokens=8000)
    request_message, reply, results = body["messages"]
    assert request_message["role"] == "user"
    assert reply["role"] == "assistant"
    reasoning_block, text_block, first, second = reply["content"]
    assert reasoning_block == {"type": "thinking", "thinking": "Two files.", "signature": SIGNED}
    assert text_block["text"] == "Reading both."
    assert (first["type"], first["id"], first["input"]) == (
        "tool_use",
        "call_1",
        {"path": "a.rs"},
    )
    assert second["id"] == "call_2"
    assert [(r["tool_use_id"], r["is_error"]) for r in results["content"]] == [
        ("call_1", False),
        ("call_2", True),
    ]
    assert results["content"][1]["content"][0]["text"] == "no such file"
    assert body["thinking"]["type"] in ("enabled", "adaptive")


async def test_anthropic_gets_redacted_reasoning_back():
    hidden = Reply(Think("Seen.", "U0lH"), Think("", "SElEREVO", redacted=True), Say("Yes."))
    with run_vendor("anthropic", [hidden, Reply(Say("."))]) as standin:
        provider = make_provider(standin)
        events = await receive_events(provider)
        assert ReplyMetadata("reasoning", {"anthropic_redacted_thinking": "SElEREVO"}) in events
        reply_events = Recorded().take(events)
        reply_events.append(make_event(ChatResponse("message", "Yes.")))
        request_event = make_event(ChatRequest("Again"))
        await receive_events(provider, make_request(request_event, *reply_events, request_event))
        _, reply, _ = standin.requests[1].body["messages"]
    assert reply["content"][:2] == [
        {"type": "thinking", "thinking": "Seen.", "signature": "U0lH"},
        {"type": "redacted_thinking", "data": "SElEREVO"},
    ]


async def test_openai_gets_its_items_back():
    body = await second_request("openai")
    items = body["input"]
    assert [i.get("type", i.get("role")) for i in items] == [
        "system",
        "user",
        "reasoning",
        "message",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
    ]
    _, _, reasoning_item, message, call, *_ = items
    assert (reasoning_item["id"], reasoning_item["encrypted_content"]) == ("rs_1", SIGNED)
    assert reasoning_item["summary"] == [{"type": "summary_text", "text": "Two files."}]
    assert (message["id"], message["phase"]) == ("msg_1", "commentary")
    assert (call["id"], call["call_id"]) == ("fc_call_1", "call_1")
    assert items[-2]["output"] == "fn main() {}"
    assert "no such file" in items[-1]["output"]
    assert body["store"] is False
    assert body["include"] == ["reasoning.encrypted_content"]


async def test_openai_s_summaries_of_one_thought_are_one_text():
    reply = Reply(Think("One.\n\nTwo.", SIGNED), Say("Yes."))
    with run_vendor("openai", [reply]) as standin:
        events = await receive_events(make_provider(standin, {"reasoning": "high"}))
        body = standin.requests[0].body
    assert join_text(events, "reasoning") == "One.\n\nTwo."
    metadata = [e for e in events if isinstance(e, ReplyMetadata)]
    assert metadata == [
        ReplyMetadata("reasoning", {"openai_item_id": "rs_1", "openai_encrypted_content": SIGNED}),
        ReplyMetadata("message", {"openai_item_id": "msg_1"}),
    ]
    assert body["reasoning"].items() >= {"effort": "high", "summary": "auto"}.items()


async def test_openai_gets_no_ids_of_a_reply_whose_reasoning_is_left_out():
    reply = (
        make_event(ChatResponse("reasoning", "Hm"), openai_item_id="rs_9"),
        make_event(ChatResponse("message", "Yes."), openai_item_id="msg_9"),
    )
    request_event = make_event(ChatRequest("Hello"))
    with run_vendor("openai", [Reply(Say("."))]) as standin:
        await receive_events(
            make_provider(standin), make_request(request_event, *reply, request_event)
        )
        body = str(standin.requests[0].body)
    assert "Yes." in body
    assert "msg_9" not in body
    assert "rs_9" not in body


async def test_google_gets_its_signatures_back_where_they_were():
    body = await second_request("google")
    _, reply, results = body["contents"]
    text, first, second = reply["parts"]
    assert text == {"text": "Reading both.", "thoughtSignature": SIGNED}
    assert first["functionCall"] == {"id": "call_1", "name": "fs_read", "args": {"path": "a.rs"}}
    assert first["thoughtSignature"] == CALLED
    assert "thoughtSignature" not in second
    assert [r["functionResponse"]["id"] for r in results["parts"]] == ["call_1", "call_2"]
    assert results["parts"][0]["functionResponse"]["response"] == {"return_value": "fn main() {}"}
    assert "no such file" in str(results["parts"][1])


async def test_signed_thought_is_sent_back_to_google():
    reasoning = make_event(ChatResponse("reasoning", "Hm"), google_thought_signature=SIGNED)
    request_event, reply_event = (
        make_event(ChatRequest("Hello")),
        make_event(ChatResponse("message", "Yes.")),
    )
    bare = make_event(ChatResponse("message", ""), google_thought_signature=CALLED)
    with run_vendor("google", [Reply(Say("."))]) as standin:
        await receive_events(
            make_provider(standin),
            make_request(request_event, reasoning, reply_event, bare, request_event),
        )
        parts = standin.requests[0].body["contents"][1]["parts"]
    assert parts == [
        {"text": "Hm", "thought": True, "thoughtSignature": SIGNED},
        {"text": "Yes."},
        {"text": "", "thoughtSignature": CALLED},
    ]


async def test_openrouter_gets_its_reasoning_back_as_it_came():
    body = await second_request("openrouter")
    reply = body["messages"][2]
    (detail,) = reply["reasoning_details"]
    assert (detail["type"], detail["text"]) == ("reasoning.text", "Two files.")
    assert (detail["format"], detail["signature"]) == ("anthropic-claude-v1", SIGNED)
    assert [c["id"] for c in reply["tool_calls"]] == ["call_1", "call_2"]


@pytest.mark.parametrize("name", ["llamacpp", "ollama", "openrouter"])
async def test_results_go_back_as_messages_of_tools(name: str):
    body = await second_request(name)
    assert [m["role"] for m in body["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
    ]
    assert [m["tool_call_id"] for m in body["messages"][3:]] == ["call_1", "call_2"]
    assert "fn main() {}" in str(body["messages"][3]["content"])


@pytest.mark.parametrize("name", VENDORS)
async def test_request_omits_signatures_of_other_vendors(name: str):
    secrets = {
        "anthropic_thinking_signature": "SANTHROPIC=",
        "anthropic_redacted_thinking": "RANTHROPIC=",
        "google_thought_signature": "SGOOGLE=",
        "openai_encrypted_content": "SOPENAI=",
        "openrouter_reasoning": {"type": "reasoning.text", "signature": "SOPENROUTER="},
    }
    other_secrets = {k: v for k, v in secrets.items() if not k.startswith(name)}
    request_event = make_event(ChatRequest("Hello"))
    reply = (
        make_event(ChatResponse("reasoning", "A thought"), **other_secrets),
        make_event(ChatResponse("message", "Yes."), **other_secrets),
        request_event,
    )
    with run_vendor(name, [Reply(Say("."))]) as standin:
        await receive_events(make_provider(standin), make_request(request_event, *reply))
        body = str(standin.requests[0].body)
    assert "Yes." in body
    assert "A thought" not in body
    assert [value for value in map(str, other_secrets.values()) if value in body] == []
    assert "SOPENROUTER" not in body


@pytest.mark.parametrize("name", VENDORS)
async def test_request_omits_inquiry_events(name: str):
    """The thread leaves them out; here they are forced in."""
    question = InquiryRequest.from_fields(
        {
            "id": "call_1.q.1",
            "source": {"source": "tool", "name": "fs_read"},
            "question": {"text": "CANARY", "answer_type": {"type": "text"}},
        }
    )
    assert question.source == InquirySource.for_tool("fs_read")
    with run_vendor(name, [Reply(Say("."))]) as standin:
        request_event = make_event(ChatRequest("Hello"))
        await receive_events(
            make_provider(standin), make_request(request_event, make_event(question), request_event)
        )
        assert "CANARY" not in str(standin.requests[0].body)


@pytest.mark.parametrize("name", VENDORS)
async def test_a_reply_to_a_schema_is_one_value(name: str):
    with run_vendor(name, [Reply(Think("Hm", SIGNED), Say('{"answer": true}'))]) as standin:
        schema_request = make_request(schema=SCHEMA, tool_choice="none")
        model = "openai/gpt-5" if name == "openrouter" else ""
        events = without_callings(
            await receive_events(make_provider(standin, model=model), schema_request)
        )
        body = str(standin.requests[0].body)
    assert [e for e in events if isinstance(e, StructuredReply)] == [
        StructuredReply({"answer": True})
    ]
    assert events[-2:] == [StructuredReply({"answer": True}), ReplyFinished()]
    assert join_text(events, "message") == ""
    assert "answer" in body
    assert "boolean" in body


async def test_gemini_2_gives_data_by_a_tool_beside_other_tools():
    """The library refuses tools and a schema together for it: a second model gave no answer."""
    with run_vendor("google", [Reply(Call("reply", {"answer": False}))]) as standin:
        schema_request = make_request(schema=SCHEMA, tool_choice="none")
        events = await receive_events(
            make_provider(standin, model="gemini-2.5-flash"), schema_request
        )
        config = standin.requests[0].body
    assert events == [StructuredReply({"answer": False}), ReplyFinished()]
    assert "reply" in str(config["tools"])
    assert config["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] == ["reply"]


async def test_a_model_without_structured_replies_gives_data_by_a_tool():
    called = Reply(Call("reply", {"answer": False}))
    with run_vendor("openrouter", [called]) as standin:
        schema_request = make_request(schema=SCHEMA, tool_choice="none")
        events = await receive_events(
            make_provider(standin, model="somebody/model"), schema_request
        )
        body = standin.requests[0].body
    assert events == [StructuredReply({"answer": False}), ReplyFinished()]
    assert "reply" in [tool["function"]["name"] for tool in body["tools"]]


@pytest.mark.parametrize("name", VENDORS)
async def test_data_of_no_form_is_a_failure(name: str):
    with run_vendor(name, [Reply(Say("Certainly! The answer"))]) as standin:
        error, _ = await get_failure(make_provider(standin), make_request(schema=SCHEMA, tools=()))
    assert error.kind is FailureKind.BROKEN_OFF
    assert "no data in the requested format" in str(error)


@pytest.mark.parametrize("name", VENDORS)
@pytest.mark.parametrize("choice", ["auto", "none", "required", "fs_read"])
async def test_request_has_the_tool_choice(name: str, choice: str):
    tools = (TOOL, replace(TOOL, name="fs_write"))
    with run_vendor(name, [Reply(Say("."))]) as standin:
        provider = make_provider(standin, {"reasoning": "off"})
        await receive_events(provider, make_request(tool_choice=choice, tools=tools))
        body = standin.requests[0].body
    tool_choice = str(body.get("tool_choice") or body.get("toolConfig")).lower()
    words = {"required": ("required", "any"), "auto": ("auto", "validated")}
    if name == "ollama":  # it has no choice of a tool: tools are offered or not, and asked for
        assert ("tools" in body) is (choice != "none")
        assert ("You must call" in str(body["messages"])) is (choice in ("required", "fs_read"))
        return
    if (name, choice) == ("llamacpp", "fs_read"):  # its server reads no name as a choice
        assert [tool["function"]["name"] for tool in body["tools"]] == ["fs_read"]
        choice = "required"
    assert any(word in tool_choice for word in words.get(choice, (choice,)))


@pytest.mark.parametrize("name", VENDORS)
async def test_closing_a_reply_closes_the_connection(name: str):
    with run_vendor(name, [Reply(Say("Hello there"), end="hang")]) as standin:
        stream: Any = make_provider(standin).stream(make_request())
        async with aclosing(stream):
            await anext(stream)
        assert await asyncio.to_thread(standin.hangup_event.wait, 60)


@pytest.mark.parametrize("name", VENDORS)
async def test_cancelling_a_wait_closes_the_connection(name: str):
    load_vendor(name)
    with run_vendor(name, [Reply(end="hang")]) as standin:
        wait_task = asyncio.create_task(receive_events(make_provider(standin)))
        assert await asyncio.to_thread(standin.request_event.wait, 60)
        wait_task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await wait_task
        assert await asyncio.to_thread(standin.hangup_event.wait, 60)


async def test_a_model_in_openai_s_way_may_leave_out_the_cipher():
    with run_vendor("openai", [Reply(Think("Hm"), Say("Yes."))]) as standin:
        events = await receive_events(make_provider(standin))
    assert ReplyMetadata("reasoning", {"openai_item_id": "rs_1"}) in events

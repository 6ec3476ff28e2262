"""The name of the tool by which a model without structured output gives its data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jpweb.agent.ports import CompleteToolCall, ReplyFinished, StructuredReply
from tests.agent.providers.conversing import (
    SCHEMA,
    TOOL,
    VENDORS,
    make_provider,
    make_request,
    receive_events,
    without_callings,
)
from tests.machine.vendors import Call, Reply, run_vendor


def make_tools(*names: str) -> Any:
    return tuple(replace(TOOL, name=name) for name in names)


@pytest.mark.parametrize("name", VENDORS)
async def test_call_of_an_offered_tool_named_reply_is_received(name: str):
    with run_vendor(name, [Reply(Call("reply", {"path": "a"}, "call_1"))]) as standin:
        events = await receive_events(
            make_provider(standin), make_request(tools=make_tools("reply"))
        )
    calls = [(e.name, e.arguments) for e in events if isinstance(e, CompleteToolCall)]
    assert calls == [("reply", {"path": "a"})]
    assert events[-1] == ReplyFinished()


@pytest.mark.parametrize(
    ("offered", "output_name"),
    [
        (("fs_read",), "reply"),
        (("reply",), "reply_2"),
        (("reply_2", "reply"), "reply_3"),
        (("reply_2",), "reply"),
    ],
)
async def test_output_tool_has_a_name_that_no_offered_tool_has(offered: Any, output_name: str):
    called = Reply(Call(output_name, {"answer": False}))
    with run_vendor("openrouter", [called]) as standin:
        request = make_request(schema=SCHEMA, tool_choice="none", tools=make_tools(*offered))
        events = await receive_events(make_provider(standin, model="somebody/model"), request)
        body = standin.requests[0].body
    assert events == [StructuredReply({"answer": False}), ReplyFinished()]
    tool_names = [tool["function"]["name"] for tool in body["tools"]]
    assert sorted(tool_names) == sorted({*offered, output_name})


async def test_structured_reply_holds_no_call_of_an_offered_tool_named_reply():
    both = Reply(Call("reply", {"path": "a"}, "call_1"), Call("reply_2", {"answer": False}))
    with run_vendor("openrouter", [both]) as standin:
        request = make_request(schema=SCHEMA, tools=make_tools("reply"))
        events = await receive_events(make_provider(standin, model="somebody/model"), request)
    assert without_callings(events) == [
        CompleteToolCall("call_1", "reply", {"path": "a"}),
        StructuredReply({"answer": False}),
        ReplyFinished(),
    ]

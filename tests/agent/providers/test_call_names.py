"""Names of called tools, as requests repeat them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from jpweb.stream.events import ChatRequest, ToolCallRequest, ToolCallResponse
from tests.agent.providers.conversing import (
    TOOL,
    VENDORS,
    make_event,
    make_provider,
    make_request,
    receive_events,
)
from tests.machine.vendors import Reply, Say, run_vendor

#: The objects of requests that name a called tool, or the tool of a result, by vendor's keys.
_CALL_KEYS = ("functionCall", "functionResponse", "function")
_CALL_TYPES = ("tool_use", "function_call")


def find_names(value: Any) -> Iterator[str]:
    """Yield the names of calls and results in the messages of a request."""
    if isinstance(value, list):
        for item in value:
            yield from find_names(item)
    elif isinstance(value, dict):
        if value.get("type") in _CALL_TYPES:
            yield value["name"]
        for key, item in value.items():
            if key in _CALL_KEYS:
                yield item["name"]
            yield from find_names(item)


async def get_sent_names(vendor: str, called_name: str, offered_name: str = "fs_read") -> set[str]:
    request = make_request(
        make_event(ChatRequest("Hello")),
        make_event(ToolCallRequest("call_1", called_name, {})),
        make_event(ToolCallResponse("call_1", "It is not available.", is_error=True)),
        tools=(replace(TOOL, name=offered_name),),
    )
    with run_vendor(vendor, [Reply(Say("."))]) as standin:
        await receive_events(make_provider(standin), request)
        body = standin.requests[0].body
    return set(find_names(body.get("messages") or body.get("contents") or body["input"]))


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize(
    ("called_name", "sent_name"),
    [
        pytest.param("", "unknown", id="empty"),
        pytest.param("a b/\0<x>ä.b", "a_b___x___b", id="refused characters"),
        pytest.param("n" * 65, "n" * 64, id="too long"),
        pytest.param("no_such-Tool9", "no_such-Tool9", id="possible"),
    ],
)
async def test_call_of_an_unoffered_tool_is_sent_by_a_possible_name(
    vendor: str, called_name: str, sent_name: str
):
    assert await get_sent_names(vendor, called_name) == {sent_name}


@pytest.mark.parametrize("vendor", VENDORS)
async def test_call_of_an_offered_tool_is_sent_by_its_name(vendor: str):
    name = "n" * 100
    assert await get_sent_names(vendor, name, offered_name=name) == {name}

"""Calls of one reply with the same id, as some vendors give them."""

from __future__ import annotations

import pytest

from jpweb.agent.ports import CompleteToolCall
from tests.agent.providers.conversing import VENDORS, make_provider, receive_events
from tests.machine.vendors import Call, Reply, run_vendor

PATHS = ["a.rs", "b.rs"]
REPLY = Reply(*(Call("fs_read", {"path": path}, "call_1") for path in PATHS))


async def receive_calls(name: str) -> list[CompleteToolCall]:
    with run_vendor(name, [REPLY]) as standin:
        events = await receive_events(make_provider(standin))
    return [event for event in events if isinstance(event, CompleteToolCall)]


@pytest.mark.parametrize("name", VENDORS)
async def test_calls_of_one_id_are_received_with_their_arguments(name: str):
    calls = await receive_calls(name)
    assert [call.arguments for call in calls] == [{"path": path} for path in PATHS]


async def test_openai_s_calls_of_one_id_are_items_of_their_own():
    assert [call.metadata for call in await receive_calls("openai")] == [
        {"openai_item_id": "fc_call_1"},
        {"openai_item_id": "fc_call_1_2"},
    ]

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest, JSONRPCResponse

from jpweb.agent.tool_outcome import Failed, Success
from jpweb.agent.tools.mcp import connect_servers, open_requests
from tests.agent.tools.mcp.serving import call_tool, make_stdio_server, make_tool_config
from tests.machine.sizes import mark_proof

PROBLEM = "it left more than 100 requests open"
REFUSED = Failed(f"The call to the MCP server probe failed: {PROBLEM}")
#: The tasks of the test and of two connections, besides those of open requests: one each.
MAX_OTHER_TASKS = 50
FORM = {"type": "object", "properties": {"a": {"type": "string"}}}
ELICITATION = {
    "id": "e" * 2_000,
    "method": "elicitation/create",
    "params": {"mode": "form", "message": "m" * 100, "requestedSchema": FORM},
}
PING = {"id": "p" * 2_000, "method": "ping"}


async def wait_for_person(_question: Any) -> Any:
    await asyncio.Event().wait()


def test_requests_of_every_method_count_until_they_are_answered():
    excesses: list[int] = []
    counter = open_requests._RequestCounter(lambda: excesses.append(number))
    for number in range(2 * open_requests.MAX_OPEN_REQUESTS + 1):
        method = ("ping", "elicitation/create", "roots/list")[number % 3]
        request = JSONRPCRequest(jsonrpc="2.0", id=number, method=method)
        counter.count_received(SessionMessage(request))
        if number < open_requests.MAX_OPEN_REQUESTS:
            counter.count_sent(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=number, result={})))
    assert excesses == [number]


@pytest.mark.parametrize("message", [ELICITATION, *mark_proof(PING)], ids=["elicitations", "pings"])
async def test_server_that_reads_no_reply_is_ended_and_others_answer(tmp_path, message):
    servers = [make_stdio_server(), make_stdio_server(name="other")]
    task_count = 0
    async with asyncio.timeout(60), connect_servers(servers, tmp_path) as connections:
        arguments = {"message": message, "count": 30_000}
        call = asyncio.create_task(call_tool(connections, "repeat", arguments, wait_for_person))
        other_tool = connections.make_tool(make_tool_config("add", "other"))
        while not call.done():
            assert await other_tool.execute({"a": 1}, {}, wait_for_person) == Success("3")
            task_count = max(task_count, len(asyncio.all_tasks()))
        assert call.result() == REFUSED
        assert await call_tool(connections, "add", {"a": 1}) == REFUSED
    assert task_count < open_requests.MAX_OPEN_REQUESTS * 2 + MAX_OTHER_TASKS


async def test_requests_that_are_answered_or_cancelled_do_not_count(tmp_path, monkeypatch):
    monkeypatch.setattr(open_requests, "MAX_OPEN_REQUESTS", 3)
    async with asyncio.timeout(60), connect_servers([make_stdio_server()], tmp_path) as connections:
        for message in (PING, ELICITATION):
            arguments = {"message": message, "count": 2, "cancels": message == ELICITATION}
            for _ in range(5):
                outcome = await call_tool(connections, "repeat", arguments, wait_for_person)
                assert outcome == Success("repeat")

"""A conversation that is too long for the secondary assistant."""

from __future__ import annotations

from typing import Any

import pytest

from jpweb.agent.errors import FailureKind, InquiryFailed
from jpweb.stream.events import ChatRequest, ToolCallRequest, ToolCallResponse, TurnStart
from tests.agent.tool_calls.inquiring.bench import STREAM, BackendBench, make_failure, make_reply
from tests.builders import make_call, make_result, stream

TOO_LONG = (make_failure(FailureKind.CONTEXT_LENGTH),)


def turns(count) -> Any:
    """Return a stream of turns with a call each; that of the last is the one that asks."""
    earlier = [
        kind
        for number in range(1, count)
        for kind in (
            TurnStart(),
            ChatRequest(f"Turn {number}."),
            make_call(f"e{number}"),
            make_result(f"e{number}"),
        )
    ]
    return stream(*earlier, *STREAM)


def list_request_texts(request) -> list[str]:
    """Return what the requests in a request say, but for the question."""
    kinds = [event.kind for event in request.parts.events]
    assert kinds[-2] == ToolCallResponse("c1", "Tool paused: Overwrite?", is_error=False)
    return [kind.content for kind in kinds[:-1] if isinstance(kind, ChatRequest)]


async def test_a_copy_that_is_too_long_is_sent_without_its_older_half():
    bench = BackendBench(TOO_LONG, TOO_LONG, make_reply(answer=True))
    assert await bench.inquire(elements=turns(6)) is True
    first, second, third = bench.provider.requests
    assert list_request_texts(first) == [f"Turn {number}." for number in range(1, 6)] + ["Go."]
    assert list_request_texts(second) == ["Turn 4.", "Turn 5.", "Go."]
    assert list_request_texts(third) == ["Turn 5.", "Go."]
    assert bench.pauses == []
    calls = [e.kind.id for e in third.parts.events if isinstance(e.kind, ToolCallRequest)]
    assert calls == ["e5", "c1"]


async def test_a_copy_is_halved_twice_and_no_more():
    bench = BackendBench(TOO_LONG, TOO_LONG, TOO_LONG)
    with pytest.raises(InquiryFailed, match="Too many"):
        await bench.inquire(elements=turns(99))
    assert len(bench.provider.requests) == 3


@pytest.mark.parametrize(("count", "requests"), [(1, 1), (2, 2)])
async def test_halved_copy_keeps_the_turn_that_asks(count, requests):
    bench = BackendBench(*[TOO_LONG] * 4)
    with pytest.raises(InquiryFailed):
        await bench.inquire(elements=turns(count))
    assert len(bench.provider.requests) == requests
    assert list_request_texts(bench.provider.requests[-1]) == ["Go."]


async def test_a_copy_is_not_cut_between_a_call_and_its_result():
    turns_between = stream(
        TurnStart(), ChatRequest("One."), make_call("e1"), ChatRequest("Two."), make_result("e1")
    )
    bench = BackendBench(TOO_LONG, make_reply(answer=True))
    await bench.inquire(elements=[*turns_between, *STREAM])
    assert list_request_texts(bench.provider.requests[-1]) == ["Go."]

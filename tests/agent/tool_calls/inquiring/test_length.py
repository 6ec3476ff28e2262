"""A conversation that is too long for the secondary assistant."""

from __future__ import annotations

from typing import Any

import pytest

from jpweb.agent.errors import FailureKind, InquiryFailed
from jpweb.stream.events import ChatRequest, ToolCallRequest, ToolCallResponse, TurnStart
from tests.agent.tool_calls.inquiring.bench import STREAM, Bench, failure, reply
from tests.builders import called, returned, stream

TOO_LONG = (failure(FailureKind.CONTEXT_LENGTH),)


def turns(count) -> Any:
    """Return a stream of turns with a call each; that of the last is the one that asks."""
    earlier = [
        kind
        for number in range(1, count)
        for kind in (
            TurnStart(),
            ChatRequest(f"Turn {number}."),
            called(f"e{number}"),
            returned(f"e{number}"),
        )
    ]
    return stream(*earlier, *STREAM)


def said(request) -> list[str]:
    """Return what the requests in a request say, but for the question."""
    kinds = [event.kind for event in request.parts.events]
    assert kinds[-2] == ToolCallResponse("c1", "Tool paused: Overwrite?", is_error=False)
    return [kind.content for kind in kinds[:-1] if isinstance(kind, ChatRequest)]


async def test_a_copy_that_is_too_long_is_sent_without_its_older_half():
    bench = Bench(TOO_LONG, TOO_LONG, reply(answer=True))
    assert await bench.inquire(elements=turns(6)) is True
    first, second, third = bench.provider.requests
    assert said(first) == [f"Turn {number}." for number in range(1, 6)] + ["Go."]
    assert said(second) == ["Turn 4.", "Turn 5.", "Go."]
    assert said(third) == ["Turn 5.", "Go."]
    assert bench.pauses == []
    calls = [e.kind.id for e in third.parts.events if isinstance(e.kind, ToolCallRequest)]
    assert calls == ["e5", "c1"]


async def test_a_copy_is_halved_twice_and_no_more():
    bench = Bench(TOO_LONG, TOO_LONG, TOO_LONG)
    with pytest.raises(InquiryFailed, match="Too many"):
        await bench.inquire(elements=turns(99))
    assert len(bench.provider.requests) == 3


@pytest.mark.parametrize(("count", "requests"), [(1, 1), (2, 2)])
async def test_the_turn_that_asks_stays(count, requests):
    bench = Bench(*[TOO_LONG] * 4)
    with pytest.raises(InquiryFailed):
        await bench.inquire(elements=turns(count))
    assert len(bench.provider.requests) == requests
    assert said(bench.provider.requests[-1]) == ["Go."]


async def test_a_copy_is_not_cut_between_a_call_and_its_result():
    between = stream(
        TurnStart(), ChatRequest("One."), called("e1"), ChatRequest("Two."), returned("e1")
    )
    bench = Bench(TOO_LONG, reply(answer=True))
    await bench.inquire(elements=[*between, *STREAM])
    assert said(bench.provider.requests[-1]) == ["Go."]

"""Every way in which a vendor fails, through a run: what is kept, and how the turn goes on.

A turn is begun, its first cycle calls a tool that a person answers; the second cycle fails, is
tried again by whoever reads it, and ends. What was on record stays as it was, to the byte.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from jpweb.agent.provider_info import PROVIDER_INFO
from jpweb.agent.turn import TurnPorts
from jpweb.runtime import runs
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.execution import run_executor, turn_runner
from jpweb.store.errors import InvalidConfigFile, NothingToRetry
from jpweb.store.models import Run
from tests.agent.providers.conversing import KEY, MODELS
from tests.agent.providers.test_failures import TOO_LONG, wrap_error
from tests.machine.ports import free_port
from tests.machine.sizes import mark_proof
from tests.machine.vendors import Call, Failure, Reply, Say, Standin, Think, run_vendor
from tests.runtime.playing import wait_for_task
from tests.runtime.scenarios.talking import DONE
from tests.runtime.scenarios.wires import list_roles
from tests.runtime.scenarios.workshop import VARIABLE, Workshop

NAMES = sorted(MODELS)
CALL = Call("deploy", {"service": "blog"}, "call_1")
FIRST = Reply(Say("I see."), CALL)
BEFORE = [
    "turn_start",
    "asked: Begin",
    "message: I see.",
    "call call_1 deploy",
    "ask call_1.confirm.1",
    "answered call_1.confirm.1 person",
    "result call_1",
]
#: As ``FIRST``, of a vendor that gives each reply's calls the same ids; then the end.
AGAIN = [Reply(CALL), DONE]
AFTER = [
    "call call_1 deploy",
    "ask call_1.confirm.2",
    "answered call_1.confirm.2 person",
    "result call_1",
    "message: All done.",
]


@dataclass(frozen=True)
class Way:
    """A failure: what a vendor replies, how often, and what is kept and said of it."""

    reply: Callable[[str], Reply | Failure]
    failure: str
    said: str
    times: int = 1
    texts: tuple[str, ...] = ()


def make_refusal(status: int, kind: str, message: str) -> Callable[[str], Failure]:
    return lambda name: Failure(status, wrap_error(name, message, kind, status))


def always(reply: Reply | Failure) -> Callable[[str], Reply | Failure]:
    return lambda _name: reply


WAYS = {
    "rate limit": Way(
        make_refusal(429, "rate_limit_error", "Slow down"),
        "rate_limit",
        "rate limit reached",
        times=3,
    ),
    "wrong key": Way(
        make_refusal(401, "authentication_error", f"Incorrect API key: {KEY}"),
        "wrong_key",
        f"Check {VARIABLE}",
    ),
    "context length": Way(
        lambda name: Failure(400, wrap_error(name, *TOO_LONG[name])), "context_length", "too long"
    ),
    "overloaded": Way(
        always(Failure(529, "<html>Overloaded</html>")),
        "unavailable",
        "can't be reached or is overloaded",
        times=3,
    ),
    "truncated call": Way(
        always(Reply(Say("I go on."), Call("greet", raw='{"a', id="call_2"), end="length")),
        "truncated",
        "max_tokens",
        texts=("message: I go on.",),
    ),
    "broken off": Way(
        always(Reply(Think("Hm", "U0lHTkVE"), Say("Half a sent"), end="cut")),
        "broken_off",
        "ended before it was complete",
        times=3,
        texts=("reasoning: Hm", "message: Half a sent") * 3,
    ),
    "refusal": Way(
        always(Reply(Say("I"), end="refusal")), "refusal", "refused", texts=("message: I",)
    ),
}


#: Ways that a turn takes as another one: tests/agent/providers/test_failures.py tells them apart.
SAME_WAYS = ("context length", "overloaded", "rate limit", "refusal")


def cases() -> list[Any]:
    """Return each way with a vendor, so that each has its turn; under proof with a second one."""
    twice = list(zip((*WAYS, *WAYS), itertools.cycle(NAMES), strict=False))
    quick = [(way, name) for way, name in twice[: len(WAYS)] if way not in SAME_WAYS]
    return [*quick, *mark_proof(*(case for case in twice if case not in quick))]


async def play_failure(shop: Workshop, standin: Standin) -> Run:
    """Play a turn to its failure, a question answered on the way; return the row."""
    await run_in_db_thread(shop.play, standin)
    run, task = await shop.start()
    await shop.answer("confirm", "false")
    await wait_for_task(task)
    return await shop.row(run)


async def retried(shop: Workshop) -> Run:
    """Try again to the end, the same question answered once more; return the row."""
    run = await runs.retry_turn(shop.conversation, shop.ada)
    task = run_executor._active_runs[run.pk].task
    assert task is not None
    await shop.answer("confirm", "false")
    await wait_for_task(task)
    return await shop.row(run)


@pytest.mark.parametrize(("way", "name"), cases())
async def test_provider_failure_keeps_the_turn_and_a_retry_continues_it(
    shop: Workshop, way: str, name: str
):
    expected = WAYS[way]
    fails = [expected.reply(name)] * expected.times
    with run_vendor(name, [FIRST, *fails, *AGAIN]) as standin:
        row = await play_failure(shop, standin)
        assert (row.state, row.failure) == ("failed", expected.failure)
        assert PROVIDER_INFO[name].title in row.problem
        assert expected.said in row.problem
        assert len(standin.requests) == 1 + expected.times
        elements_before = [element.raw for element in await shop.elements()]
        assert await shop.list_lines() == [*BEFORE, *expected.texts]
        assert (await retried(shop)).state == "done"
        second_body = standin.requests[1 + expected.times].body
        assert list_roles(name, second_body)[-1] in ("user", "tool", "function_call_output")
    assert await shop.list_lines() == [*BEFORE, *expected.texts, *AFTER]
    assert [
        element.raw for element in (await shop.elements())[: len(elements_before)]
    ] == elements_before
    assert KEY not in await shop.dump_rows()
    with pytest.raises(NothingToRetry):
        await runs.retry_turn(shop.conversation, shop.ada)


async def test_a_rate_limit_is_waited_for_as_long_as_it_says(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
):
    body = wrap_error("google", "Slow down", "rate_limit_error", 429)
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(turn_runner, "TurnPorts", partial(TurnPorts, pause=pause))
    with run_vendor("google", [Failure(429, body, {"retry-after": "3"}), DONE]) as standin:
        await run_in_db_thread(shop.play, standin)
        row = await shop.play_turn()
    assert (row.state, row.failure) == ("done", "")
    assert await shop.list_lines() == ["turn_start", "asked: Begin", "message: All done."]
    assert pauses == [3.0], "what the vendor says counts, not what is configured"


async def test_retry_after_beyond_the_limit_waits_for_the_longest_pause(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
):
    body = wrap_error("openai", "Slow down", "rate_limit_error", 429)
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(turn_runner, "TurnPorts", partial(TurnPorts, pause=pause))
    with run_vendor("openai", [Failure(429, body, {"retry-after": "3600"}), DONE]) as standin:
        await run_in_db_thread(shop.play, standin)
        assert (await shop.play_turn()).state == "done"
    assert pauses == [5.0], "the longest that the workshop configures"
    assert await shop.list_lines() == ["turn_start", "asked: Begin", "message: All done."]


@pytest.mark.parametrize("name", ["anthropic", *mark_proof("ollama")])
async def test_unreachable_provider_fails_the_turn_until_its_retry(shop: Workshop, name: str):
    with run_vendor(name, [DONE], free_port()) as standin:
        port = int(standin.base_url.rpartition(":")[2])
        await run_in_db_thread(shop.play, standin)
    row = await shop.play_turn()
    assert (row.state, row.failure) == ("failed", "unavailable")
    assert standin.base_url in row.problem
    assert await shop.list_lines() == ["turn_start", "asked: Begin"]
    with run_vendor(name, [DONE], port):
        assert (await shop.retry()).state == "done"
    assert await shop.list_lines() == ["turn_start", "asked: Begin", "message: All done."]


async def test_start_turn_without_a_key_is_refused_and_names_the_variable(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
):
    with run_vendor("anthropic", [DONE]) as standin:
        await run_in_db_thread(shop.play, standin)
        monkeypatch.delenv(VARIABLE)
        with pytest.raises(InvalidConfigFile, match=f"Set {VARIABLE}"):
            await shop.start()
        assert (standin.requests, await shop.list_lines()) == ([], [])
        monkeypatch.setenv(VARIABLE, KEY)
        assert (await shop.play_turn()).state == "done"
    assert await shop.list_lines() == ["turn_start", "asked: Begin", "message: All done."]


async def test_a_vendor_elsewhere_is_not_asked_until_an_owner_trusts_that(shop: Workshop):
    with run_vendor("anthropic", [DONE]) as standin:
        await run_in_db_thread(shop.play, standin)
        await run_in_db_thread(shop.distrust, "anthropic")
        with pytest.raises(
            InvalidConfigFile, match="An owner of the workspace must trust that first"
        ):
            await shop.start()
        assert (standin.requests, await shop.list_lines()) == ([], [])
        await run_in_db_thread(shop.trust)
        assert (await shop.play_turn()).state == "done"
    assert await shop.list_lines() == ["turn_start", "asked: Begin", "message: All done."]

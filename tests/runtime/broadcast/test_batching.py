from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from jpweb.runtime.broadcast.batching import BatchRunner
from jpweb.store.database.availability import DATABASE_UNAVAILABLE


class Hall:
    """Notes each round; it lasts until the hall is opened."""

    def __init__(
        self, await_more: Callable[[], Awaitable[None]] | None = None, at_once: float = math.inf
    ) -> None:
        self.rounds: list[tuple[str, list[int]]] = []
        self.failed: list[int] = []
        self.open = asyncio.Event()
        self.of: BatchRunner[str, int] = BatchRunner(self.deal, self.fail, await_more, at_once)

    def fail(self, member: int, problem: BaseException) -> None:
        assert isinstance(problem, OSError)
        self.failed.append(member)

    async def deal(self, key: str, members: list[int]) -> None:
        self.rounds.append((key, members))
        await self.open.wait()
        if 13 in members:
            raise OSError("unlucky")

    async def empty(self) -> None:
        self.open.set()
        while self.of.is_busy:  # noqa: ASYNC110  its rounds take turns of the loop
            await asyncio.sleep(0)


async def test_members_scheduled_during_a_batch_join_the_next_one_once():
    hall = Hall()
    for number in (1, 2, 1):
        hall.of.schedule_member("a", number)
    await asyncio.sleep(0)
    for number in (2, 3, 2, 3):
        hall.of.schedule_member("a", number)
    await hall.empty()
    assert hall.rounds == [("a", [1, 2]), ("a", [2, 3])]


async def wait_briefly() -> None:
    await asyncio.sleep(0.01)


async def test_batch_that_waits_for_more_includes_following_requests():
    hall = Hall(wait_briefly)
    for number in (1, 2, 1):
        hall.of.schedule_member("a", number)
        await asyncio.sleep(0)
    assert hall.rounds == []
    await hall.empty()
    assert hall.rounds == [("a", [1, 2])]


async def test_rounds_of_several_keys_do_not_wait_for_each_other():
    hall = Hall()
    hall.of.schedule_member("a", 1)
    hall.of.schedule_member("b", 1)
    await asyncio.sleep(0)
    assert hall.rounds == [("a", [1]), ("b", [1])]
    await hall.empty()


async def test_failed_batch_is_reported_to_its_members_and_the_next_one_runs(
    caplog: pytest.LogCaptureFixture,
):
    hall = Hall()
    hall.of.schedule_member("a", 13)
    hall.of.schedule_member("a", 1)
    await asyncio.sleep(0)
    hall.of.schedule_member("a", 2)
    await hall.empty()
    assert hall.failed == [13, 1]
    assert hall.rounds == [("a", [13, 1]), ("a", [2])]
    assert "unlucky" in caplog.text


async def test_errors_of_one_key_in_a_row_are_logged_once(caplog: pytest.LogCaptureFixture):
    hall = Hall()
    hall.open.set()
    for members in ((13,), (13,), (1,), (13,)):
        for member in members:
            hall.of.schedule_member("a", member)
        await hall.empty()
    assert hall.failed == [13, 13, 13]
    assert [record.message for record in caplog.records] == ["Updates of a could not be sent"] * 2


async def test_database_outage_is_logged_in_one_line(caplog: pytest.LogCaptureFixture):
    failures: list[BaseException] = []

    async def raise_unavailable(_key: str, _members: list[int]) -> None:
        raise DATABASE_UNAVAILABLE[0]("the connection is lost")

    batches: BatchRunner[str, int] = BatchRunner(
        raise_unavailable, lambda _member, error: failures.append(error)
    )
    batches.schedule_member("a", 1)
    while batches.is_busy:  # noqa: ASYNC110  its rounds take turns of the loop
        await asyncio.sleep(0)
    assert len(failures) == 1
    (record,) = caplog.records
    assert (record.levelname, record.exc_info) == ("WARNING", None)
    assert record.message == "Updates of a could not be sent: the connection is lost"


async def test_a_round_that_begins_within_a_request_outlasts_it():
    gate, end_event = asyncio.Event(), asyncio.Event()
    failures: list[int] = []

    async def deal(_key: str, _members: list[int]) -> None:
        await gate.wait()
        await sync_to_async(len)("in the store")
        end_event.set()

    rounds: BatchRunner[str, int] = BatchRunner(
        deal, lambda member, _problem: failures.append(member)
    )

    async def view() -> None:
        rounds.schedule_member("a", 1)
        await asyncio.sleep(0)

    # As a server calls a view behind a middleware that is not asynchronous.
    await sync_to_async(async_to_sync(view))()
    gate.set()
    while rounds.is_busy:  # noqa: ASYNC110  its rounds take turns of the loop
        await asyncio.sleep(0)
    assert end_event.is_set()
    assert failures == []


async def test_rounds_one_at_once_take_turns_in_the_order_of_coming():
    hall = Hall(at_once=1)
    for key in "abc":
        hall.of.schedule_member(key, 1)
    await asyncio.sleep(0)
    assert hall.rounds == [("a", [1])], "the others wait"
    hall.of.schedule_member("a", 2)
    await hall.empty()
    assert hall.rounds == [("a", [1]), ("b", [1]), ("c", [1]), ("a", [2])]


async def test_failed_batch_lets_waiting_batches_start():
    hall = Hall(at_once=1)
    hall.of.schedule_member("a", 13)
    hall.of.schedule_member("b", 1)
    await hall.empty()
    assert (hall.rounds, hall.failed) == ([("a", [13]), ("b", [1])], [13])


def test_loop_that_ends_while_updates_gather_leaves_nothing_behind():
    member_lists: list[list[str]] = []

    async def tell(_key: str, members: list[str]) -> None:
        member_lists.append(members)

    batches: BatchRunner[str, str] = BatchRunner(tell, lambda _member, _error: None, wait_briefly)

    async def schedule(member: str, seconds: float) -> None:
        batches.schedule_member("key", member)
        await asyncio.sleep(seconds)

    asyncio.run(schedule("early", 0))
    assert not batches.is_busy
    asyncio.run(schedule("late", 0.5))
    assert member_lists == [["late"]]

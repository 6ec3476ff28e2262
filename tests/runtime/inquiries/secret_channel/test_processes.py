"""Two real processes and a real Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from channels.layers import get_channel_layer
from django.conf import settings

from jpweb.runtime.broadcast import channel_layer, local_bus, publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import resolution, secret_channels
from jpweb.runtime.inquiries.secret_handover import NoWaitingCall
from jpweb.store.models import Inquiry, Run
from jpweb.store.run_queue import leases
from jpweb.stream.answer_type import Secret
from tests.browser.asking.test_canary import tap_redis
from tests.browser.evidence import find_traces
from tests.layers import channel_layers
from tests.runtime.inquiries.secret_channel.child import run_child
from tests.runtime.inquiries.secret_channel.wire import CANARY, Looks, run_of, wait_until_parked
from tests.runtime.playing import SOON, Scene, eventually, wait_for_task
from tests.store.making import decider


@pytest.fixture
async def team(redis_url: str, settings: Any) -> AsyncIterator[str]:
    """Let this process hear others over a Redis, as the web process of a team does."""
    settings.CHANNEL_LAYERS = channel_layers(redis_url)
    ready_event = asyncio.Event()
    resync_topic = local_bus.make_kind_topic(local_bus.RESYNC)

    def note_resync(_: local_bus.Signal) -> None:
        ready_event.set()

    local_bus.add_subscriber(resync_topic, note_resync)
    reader = asyncio.create_task(channel_layer.receive_signals())
    try:
        await asyncio.wait_for(ready_event.wait(), SOON)
        yield redis_url
    finally:
        local_bus.remove_subscriber(resync_topic, note_resync)
        reader.cancel()
        await asyncio.wait([reader])
        layer = get_channel_layer()
        assert layer is not None
        await layer.flush()


async def test_secret_reaches_another_process_over_redis(
    scene: Scene, team: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        secret_channels, "ROW_POLL_SECONDS", 60
    )  # the acknowledgement alone tells in time
    row = await scene.question(Secret())
    with tap_redis(team, settings.SECRET_KEY) as read_traffic:
        async with run_child(row, team, tmp_path) as other_process:
            await other_process.wait()
            await eventually(lambda: has_waiter(scene, row))
            answer = asyncio.create_task(
                resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada))
            )
            settled_row = await wait_for_task(answer)
            assert (settled_row.state, settled_row.decider_name) == ("redacted", "Ada")
            assert await other_process.read_line() == sha256(CANARY.encode()).hexdigest()
            logged = await other_process.logged()
            assert await asyncio.wait_for(other_process.process.wait(), 10) == 0
        traffic = read_traffic()
    assert "sealed" in traffic
    assert "secret_ack" in traffic
    assert "DEBUG" in logged
    assert find_traces(CANARY, tmp_path, traffic, logged, await scene.texts()) == []
    assert (await scene.reload(row)).waiter == ""


async def test_a_secret_waits_for_the_call_of_another_process(
    scene: Scene, team: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(publisher, "publish_run_changed", execute_nothing)
    row = await scene.question(Secret())
    await wait_until_parked(row)
    async with run_child(row, team, tmp_path) as other_process:
        answer = asyncio.create_task(resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada)))
        await eventually(lambda: _taken(row))
        await other_process.wait()
        assert (await wait_for_task(answer)).state == "redacted"
        assert await other_process.read_line() == sha256(CANARY.encode()).hexdigest()


async def test_secret_reaches_the_next_process_when_the_first_is_killed(
    scene: Scene, team: str, tmp_path: Path, look_counter: Looks
):
    """The one that goes on with the run has the secret instead."""
    row = await scene.question(Secret())
    async with run_child(row, team, tmp_path) as dies, run_child(row, team, tmp_path) as lives:
        await dies.wait()
        await eventually(lambda: has_waiter(scene, row))
        dies.process.kill()
        await dies.process.wait()
        answer = asyncio.create_task(resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada)))
        await look_counter.wait()
        assert not answer.done()
        await lives.wait()
        assert (await wait_for_task(answer)).state == "redacted"
        assert await lives.read_line() == sha256(CANARY.encode()).hexdigest()


@pytest.mark.usefixtures("short_secret_wait")
async def test_secret_for_a_killed_process_is_dropped(scene: Scene, team: str, tmp_path: Path):
    row = await scene.question(Secret())
    async with run_child(row, team, tmp_path) as dies:
        await dies.wait()
        await eventually(lambda: has_waiter(scene, row))
        dies.process.kill()
        with pytest.raises(NoWaitingCall):
            await resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada))
    assert (await scene.reload(row)).state == "open"


async def execute_nothing(_run_id: int) -> None:
    """Execute nothing in this process."""


async def has_waiter(scene: Scene, row: Inquiry) -> bool:
    return (await scene.reload(row)).waiter != ""


async def _taken(row: Inquiry) -> Run | None:
    return await run_in_db_thread(leases.acquire_lease, run_of(row), "worker", 60)

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
from tests.browser.asking.test_canary import tapped
from tests.browser.evidence import traces
from tests.layers import channel_layers
from tests.runtime.inquiries.secret_channel.child import child
from tests.runtime.inquiries.secret_channel.wire import CANARY, Looks, parked, run_of
from tests.runtime.playing import SOON, Scene, done, eventually
from tests.store.making import decider


@pytest.fixture
async def team(redis_url: str, settings: Any) -> AsyncIterator[str]:
    """Let this process hear others over a Redis, as the web process of a team does."""
    settings.CHANNEL_LAYERS = channel_layers(redis_url)
    ready = asyncio.Event()
    resync_topic = local_bus.make_kind_topic(local_bus.RESYNC)

    def note_resync(_: local_bus.Signal) -> None:
        ready.set()

    local_bus.add_subscriber(resync_topic, note_resync)
    reader = asyncio.create_task(channel_layer.receive_signals())
    try:
        await asyncio.wait_for(ready.wait(), SOON)
        yield redis_url
    finally:
        local_bus.remove_subscriber(resync_topic, note_resync)
        reader.cancel()
        await asyncio.wait([reader])
        layer = get_channel_layer()
        assert layer is not None
        await layer.flush()


async def test_a_secret_goes_to_another_process_over_redis(
    scene: Scene, team: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        secret_channels, "ROW_POLL_SECONDS", 60
    )  # the acknowledgement alone tells in time
    row = await scene.question(Secret())
    with tapped(team, settings.SECRET_KEY) as heard:
        async with child(row, team, tmp_path) as other:
            await other.wait()
            await eventually(lambda: waits(scene, row))
            answer = asyncio.create_task(
                resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada))
            )
            settled = await done(answer)
            assert (settled.state, settled.decider_name) == ("redacted", "Ada")
            assert await other.says() == sha256(CANARY.encode()).hexdigest()
            logged = await other.logged()
            assert await asyncio.wait_for(other.process.wait(), 10) == 0
        told = heard()
    assert "sealed" in told
    assert "secret_ack" in told
    assert "DEBUG" in logged
    assert traces(CANARY, tmp_path, told, logged, await scene.texts()) == []
    assert (await scene.reload(row)).waiter == ""


async def test_a_secret_waits_for_the_call_of_another_process(
    scene: Scene, team: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(publisher, "publish_run_changed", nobody)
    row = await scene.question(Secret())
    await parked(row)
    async with child(row, team, tmp_path) as other:
        answer = asyncio.create_task(resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada)))
        await eventually(lambda: _taken(row))
        await other.wait()
        assert (await done(answer)).state == "redacted"
        assert await other.says() == sha256(CANARY.encode()).hexdigest()


async def test_a_process_that_is_killed_takes_nothing_with_it(
    scene: Scene, team: str, tmp_path: Path, looks: Looks
):
    """The one that goes on with the run has the secret instead."""
    row = await scene.question(Secret())
    async with child(row, team, tmp_path) as dies, child(row, team, tmp_path) as lives:
        await dies.wait()
        await eventually(lambda: waits(scene, row))
        dies.process.kill()
        await dies.process.wait()
        answer = asyncio.create_task(resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada)))
        await looks.wait()
        assert not answer.done()
        await lives.wait()
        assert (await done(answer)).state == "redacted"
        assert await lives.says() == sha256(CANARY.encode()).hexdigest()


@pytest.mark.usefixtures("impatient")
async def test_where_the_process_was_killed_the_secret_is_dropped(
    scene: Scene, team: str, tmp_path: Path
):
    row = await scene.question(Secret())
    async with child(row, team, tmp_path) as dies:
        await dies.wait()
        await eventually(lambda: waits(scene, row))
        dies.process.kill()
        with pytest.raises(NoWaitingCall):
            await resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada))
    assert (await scene.reload(row)).state == "open"


async def nobody(_run_id: int) -> None:
    """Execute nothing in this process."""


async def waits(scene: Scene, row: Inquiry) -> bool:
    return (await scene.reload(row)).waiter != ""


async def _taken(row: Inquiry) -> Run | None:
    return await run_in_db_thread(leases.acquire_lease, run_of(row), "worker", 60)

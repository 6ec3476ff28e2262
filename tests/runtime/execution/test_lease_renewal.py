"""Leases are renewed beside everything else that a process does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from threading import Event
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError

from jpweb.agent.turn import make_opening_events
from jpweb.runtime import process_identity, runs
from jpweb.runtime.db_threads import run_in_background_thread, run_in_db_thread
from jpweb.runtime.execution import run_executor
from jpweb.runtime.execution.lease_renewal import LeaseRenewer, RenewalEnded
from jpweb.store import runs as stored
from jpweb.store.database import clock
from jpweb.store.jp_files import attachments
from jpweb.store.jp_files.attachments import Attachment
from jpweb.store.models import Heartbeat, Run
from jpweb.store.run_queue import leases
from tests.runtime import providers
from tests.runtime.playing import SOON, Scene, eventually, wait_for_task
from tests.store import making

pytestmark = pytest.mark.django_db(transaction=True)


class RenewalRecorder:
    """Hears what a renewal says."""

    def __init__(self) -> None:
        self.renewals: asyncio.Queue[tuple[list[int], set[int]]] = asyncio.Queue()
        self.is_late = asyncio.Event()

    def renewed(self, keys: list[int], owned_keys: Collection[int]) -> None:
        self.renewals.put_nowait((keys, set(owned_keys)))


@asynccontextmanager
async def renewing(*keys: int) -> AsyncIterator[RenewalRecorder]:
    ear = RenewalRecorder()
    renewal = LeaseRenewer(lambda: list(keys), ear.renewed, ear.is_late.set)
    renewal.start()
    try:
        yield ear
    finally:
        await renewal.stop()


def held_run() -> Run:
    return making.start_run(
        making.conversation(making.workspace()), holder=process_identity.get_process_name()
    )


async def test_leases_are_renewed_while_the_store_is_stuck(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(settings, "LEASE_SECONDS", 0.6)
    run, go_on = await run_in_db_thread(held_run), Event()
    async with renewing(run.pk) as ear:
        await ear.renewals.get()
        before = await run_in_background_thread(Run.objects.get, pk=run.pk)
        stuck = asyncio.create_task(run_in_db_thread(go_on.wait, 30))
        for _ in range(3):
            assert await ear.renewals.get() == ([run.pk], {run.pk})
        after = await run_in_background_thread(Run.objects.get, pk=run.pk)
        go_on.set()
        await stuck
    assert before.lease_until is not None
    assert after.lease_until is not None
    assert after.lease_until > before.lease_until
    assert await run_in_db_thread(
        Heartbeat.objects.filter(process=process_identity.get_process_name()).exists
    )


async def test_lease_renewal_reports_a_run_of_another_holder_as_not_held(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(settings, "LEASE_SECONDS", 5)
    run = await run_in_db_thread(held_run)
    await run_in_db_thread(Run.objects.filter(pk=run.pk).update, holder="another")
    async with renewing(run.pk) as ear:
        assert await ear.renewals.get() == ([run.pk], set())


async def test_renewal_that_fails_for_a_lease_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(settings, "LEASE_SECONDS", 0.2)

    def fail(*_: Any) -> set[int]:
        raise OperationalError("the server has not replied for 3 seconds")

    monkeypatch.setattr(leases, "renew_leases", fail)
    async with renewing() as ear:
        await asyncio.wait_for(ear.is_late.wait(), 30)
        assert ear.renewals.empty()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_tend_ends_when_its_renewal_fails(monkeypatch: pytest.MonkeyPatch):
    def fail(*_: Any) -> set[int]:
        raise ZeroDivisionError

    monkeypatch.setattr(leases, "renew_leases", fail)
    with pytest.raises(RenewalEnded):
        await asyncio.wait_for(run_executor.maintain_leases(), 30)


async def test_late_renewal_leaves_the_next_execution_of_its_run_alone(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    provider = providers.Hangs()
    providers.use_provider(monkeypatch, provider)
    run, _ = await scene.start()
    await provider.said_event.wait()
    requested_runs = dict(run_executor._active_runs)
    await runs.release_runs()
    task = await scene.resume(run)
    run_executor._abandon_unheld(requested_runs, set())
    assert await runs.stop_run(scene.conversation.pk, making.decider(scene.ada))
    await wait_for_task(task)
    assert (await run_in_db_thread(Run.objects.get, pk=run.pk)).state == "stopped"


async def test_lease_is_renewed_while_the_files_of_its_run_are_attached(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch, providers.Says())
    run = await run_in_db_thread(queue_run, scene)
    attaching_event, go_on, real = Event(), Event(), attachments.attach_files

    def attach_slowly(conversation_id: int) -> Attachment | None:
        attaching_event.set()
        assert go_on.wait(30)
        return real(conversation_id)

    monkeypatch.setattr(attachments, "attach_files", attach_slowly)
    execution = asyncio.create_task(run_executor.execute_run(run.pk))
    await asyncio.to_thread(attaching_event.wait, SOON)
    acquired_run = await run_in_db_thread(Run.objects.get, pk=run.pk)
    maintenance = asyncio.create_task(run_executor.maintain_leases())

    async def is_renewed() -> bool:
        later = Run.objects.filter(pk=run.pk, lease_until__gt=acquired_run.lease_until)
        return await run_in_db_thread(later.exists)

    try:
        await eventually(is_renewed)
        await run_in_db_thread(leases.expire_installation, process_identity.get_installation_name())
        await run_executor.check_and_recover()
    finally:
        maintenance.cancel()
        go_on.set()
        await asyncio.gather(maintenance, execution, return_exceptions=True)
    row = await run_in_db_thread(Run.objects.get, pk=run.pk)
    assert (row.state, row.fence) == ("done", acquired_run.fence)


def queue_run(scene: Scene) -> Run:
    events = make_opening_events("Begin", None, clock.now())
    return stored.start_run(scene.conversation.pk, scene.ada.pk, "scripted", "", events)

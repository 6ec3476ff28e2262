"""A run in a process's hands: what becomes of it when another has it, or the database is gone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError

from jpweb.agent.ports import ReplyFinished, TextDelta, TokenUsage
from jpweb.agent.turn import make_opening_events
from jpweb.runtime import process_identity, runs, wiring
from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.execution import run_executor
from jpweb.runtime.inquiries import resolution
from jpweb.store import journal, run_events
from jpweb.store import runs as rows
from jpweb.store.choices import InterruptKind
from jpweb.store.database import clock
from jpweb.store.models import Inquiry, Run
from jpweb.store.run_queue import jobs, leases
from jpweb.stream.events import ChatResponse
from tests.runtime import providers
from tests.runtime.playing import SOON, Scene, eventually, subscribe, wait_for_task
from tests.store.making import decider


async def fresh(run: Run) -> Run:
    return await run_in_db_thread(Run.objects.get, pk=run.pk)


async def wait_until_ended(run: Run) -> Run:
    async def find_ended() -> Run | None:
        row = await fresh(run)
        return row if row.ended_at and run.pk not in run_executor._active_runs else None

    ended_run: Run = await eventually(find_ended)
    return ended_run


def list_responses(elements: Any) -> list[str]:
    return [e.kind.content.strip() for e in elements if isinstance(e.kind, ChatResponse)]


class Twice:
    """Says one thing, then waits; said again, it says it again and ends."""

    NAME = "twice"

    def __init__(self) -> None:
        self.times = 0
        self.start_event = asyncio.Event()

    async def stream(self, request: object) -> Any:
        self.times += 1
        yield TextDelta("message", f"Take {self.times}.\n")
        self.start_event.set()
        if self.times == 1:
            await asyncio.Event().wait()
        yield ReplyFinished()


async def test_executor_with_expired_lease_writes_nothing_and_releases_the_run(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    provider = Twice()
    providers.use_provider(monkeypatch, provider)
    run, task = await scene.start()
    await asyncio.wait_for(provider.start_event.wait(), SOON)
    await run_in_db_thread(leases.expire_installation, process_identity.get_installation_name())
    await run_in_db_thread(rows.recover_expired, settings.LEASE_SECONDS)
    assert await run_in_db_thread(leases.acquire_lease, run.pk, "another", 60) is not None
    await run_executor.check_and_recover()
    with pytest.raises(asyncio.CancelledError):
        await wait_for_task(task)
    row = await fresh(run)
    assert (row.state, row.holder, row.fence) == ("running", "another", 3)
    assert list_responses(await scene.elements()) == [], (
        "what was being received is the other's now"
    )
    await run_in_db_thread(rows.lose_run, row, "The test is over.")


async def test_executor_that_cannot_renew_in_time_releases_all_runs(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    provider = Twice()
    providers.use_provider(monkeypatch, provider)
    monkeypatch.setattr(settings, "LEASE_SECONDS", 0.05)
    monkeypatch.setattr(run_executor, "OUTAGE_POLL_SECONDS", 0.01)
    run, task = await scene.start()
    await asyncio.wait_for(provider.start_event.wait(), SOON)
    outage = [True]

    def fail_in_outage(real: Callable[..., set[int]]) -> Callable[..., set[int]]:
        def query(*arguments: Any) -> set[int]:
            if outage:
                raise OperationalError("the server closed the connection")
            return real(*arguments)

        return query

    for name in ("renew_leases", "find_held"):  # else the next poll queues the run again
        monkeypatch.setattr(leases, name, fail_in_outage(getattr(leases, name)))
    tending = asyncio.create_task(run_executor.maintain_leases())
    with pytest.raises(asyncio.CancelledError):
        await wait_for_task(task)
    assert (await fresh(run)).state == "running", "nothing was put on record"
    monkeypatch.setattr(settings, "LEASE_SECONDS", 5)
    outage.clear()
    assert (await wait_until_ended(run)).state == "done"
    assert list_responses(await scene.elements()) == ["Take 2."]
    tending.cancel()


def fail_list_queued(monkeypatch: pytest.MonkeyPatch) -> tuple[list[bool], asyncio.Event]:
    """Have the database away while the list holds something; the event is set once it failed."""
    outage, real, failure_event = [True], leases.list_queued, asyncio.Event()
    loop = asyncio.get_running_loop()

    def untaken(*arguments: Any) -> list[int]:
        if outage:
            loop.call_soon_threadsafe(failure_event.set)
            raise OperationalError("the server closed the connection")
        return real(*arguments)

    monkeypatch.setattr(leases, "list_queued", untaken)
    return outage, failure_event


async def test_maintain_leases_executes_queued_runs_after_an_outage(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    providers.use_provider(monkeypatch, provider := Twice())
    provider.times = 1
    monkeypatch.setattr(settings, "LEASE_SECONDS", 600)
    monkeypatch.setattr(run_executor, "OUTAGE_POLL_SECONDS", 0.01)
    outage, failure_event = fail_list_queued(monkeypatch)
    tending = asyncio.create_task(run_executor.maintain_leases())
    await asyncio.wait_for(failure_event.wait(), SOON)
    opening_events = make_opening_events("Begin", None, clock.now())
    run = await run_in_db_thread(
        rows.start_run, scene.conversation.pk, scene.ada.pk, "scripted", "", opening_events
    )
    outage.clear()
    assert (await wait_until_ended(run)).state == "done", "the next ordinary look is 200 s away"
    assert "Runs cannot be checked: the server closed the connection" in caplog.text
    tending.cancel()
    await asyncio.gather(tending, return_exceptions=True)


async def test_maintain_leases_enqueues_queued_runs_after_an_outage(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    opening_events = make_opening_events("Begin", None, clock.now())
    run = await run_in_db_thread(
        rows.start_run, scene.conversation.pk, scene.ada.pk, "scripted", "", opening_events
    )
    monkeypatch.setattr(settings, "RUN_MODE", "workers")
    monkeypatch.setattr(settings, "LEASE_SECONDS", 600)
    monkeypatch.setattr(run_executor, "OUTAGE_POLL_SECONDS", 0.01)
    offers: asyncio.Queue[list[int]] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(
        leases, "reenqueue_jobs", lambda keys: loop.call_soon_threadsafe(offers.put_nowait, keys)
    )
    outage, failure_event = fail_list_queued(monkeypatch)
    tending = asyncio.create_task(run_executor.maintain_leases())
    await asyncio.wait_for(failure_event.wait(), SOON)
    outage.clear()
    assert await offers.get() == [run.pk], "it was queued for less than a lease"
    tending.cancel()
    await asyncio.gather(tending, return_exceptions=True)


async def test_database_outage_fails_no_run(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    provider = Twice()
    provider.times = 1
    providers.use_provider(monkeypatch, provider)
    real = run_events.record_events

    def record(*_: Any, **__: Any) -> None:
        monkeypatch.setattr(run_events, "record_events", real)
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr(run_events, "record_events", record)
    run, task = await scene.start()
    await wait_for_task(task)
    assert (await fresh(run)).state == "running"
    await run_in_db_thread(leases.expire_installation, process_identity.get_installation_name())
    await run_executor.check_and_recover()
    ended_run = await wait_until_ended(run)
    assert (ended_run.state, ended_run.resume_count) == ("done", 1)
    assert list_responses(await scene.elements()) == ["Take 3."]


@pytest.mark.parametrize("kind", [None, InterruptKind.RESTART, InterruptKind.RESPOND])
async def test_a_turn_that_was_complete_when_its_process_died_is_not_played_on(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, kind: InterruptKind | None
):
    provider = Twice()
    provider.times = 1
    providers.use_provider(monkeypatch, provider)
    real = rows.end_run

    def end(*_: Any, **__: Any) -> bool:
        monkeypatch.setattr(rows, "end_run", real)
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr(rows, "end_run", end)
    run, task = await scene.start()
    await wait_for_task(task)
    if kind is not None:
        sender = decider(scene.ada)
        await run_in_db_thread(rows.interrupt_run, scene.conversation.pk, kind, sender)
    await run_in_db_thread(leases.expire_installation, process_identity.get_installation_name())
    await run_executor.check_and_recover()
    assert (await wait_until_ended(run)).state == "done"
    assert list_responses(await scene.elements()) == ["Take 2."], "the model is not asked again"


async def test_call_notices_a_question_settled_by_another_process(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    """Its signal was lost; the call looks at its row by itself."""
    monkeypatch.setattr(resolution, "ROW_POLL_SECONDS", 0.01)
    providers.use_provider(monkeypatch)
    _, task = await scene.start()
    row = await scene.get_question()
    monkeypatch.setattr(resolution.settlement_waiters, "notify", lambda *_: None)
    await resolution.answer_inquiry(row.pk, "true", decider(scene.ada))
    second = await scene.get_question()
    assert second != row
    monkeypatch.undo()
    assert await runs.stop_run(scene.conversation.pk, decider(scene.ada))
    await wait_for_task(task)


async def test_stop_without_a_signal_is_noticed(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    provider = Twice()
    providers.use_provider(monkeypatch, provider)
    run, task = await scene.start()
    await asyncio.wait_for(provider.start_event.wait(), SOON)
    monkeypatch.setattr(run_executor, "_on_run_signal", lambda _signal: None)
    await run_in_db_thread(
        rows.interrupt_run, scene.conversation.pk, InterruptKind.STOP, decider(scene.eve)
    )
    assert not task.done()
    await run_executor.check_and_recover()
    await wait_for_task(task)
    assert (await fresh(run)).state == "stopped"


async def test_a_run_begun_for_workers_waits_for_one(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(settings, "RUN_MODE", "workers")
    job_ids: list[int] = []
    monkeypatch.setattr(jobs, "enqueue_job", job_ids.append)
    providers.use_provider(monkeypatch, providers.Says())
    run = await runs.start_turn(scene.conversation, scene.ada, "Begin")
    assert ((await fresh(run)).state, job_ids) == ("queued", [run.pk])
    assert run_executor._active_runs == {}
    await run_executor.execute_run(run.pk)
    assert (await fresh(run)).state == "done"
    await run_executor.execute_run(run.pk)
    assert list_responses(await scene.elements()) == ["A word."]


async def test_cancelled_job_releases_its_run(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(settings, "RUN_MODE", "workers")
    job_ids: list[int] = []
    monkeypatch.setattr(jobs, "enqueue_job", job_ids.append)
    provider = Twice()
    providers.use_provider(monkeypatch, provider)
    run = await runs.start_turn(scene.conversation, scene.ada, "Begin")
    job = asyncio.create_task(run_executor.execute_run(run.pk))
    await asyncio.wait_for(provider.start_event.wait(), SOON)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await wait_for_task(job)
    assert ((await fresh(run)).state, job_ids) == ("queued", [run.pk, run.pk])
    await run_executor.execute_run(run.pk)
    assert (await fresh(run)).state == "done"


async def test_answer_during_parking_resumes_the_run_at_once(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    """Its servers take a while to end, and until then this process seems to have it."""
    monkeypatch.setattr(settings, "PARK_AFTER_SECONDS", 0.01)
    providers.use_provider(monkeypatch)
    real, ending, go_on = wiring.open_turn_resources, asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def equipped(conversation: Any) -> AsyncIterator[Any]:
        async with real(conversation) as equipment:
            try:
                yield equipment
            finally:
                ending.set()
                await go_on.wait()

    monkeypatch.setattr(wiring, "open_turn_resources", equipped)
    run, task = await scene.start()
    row = await eventually(lambda: run_in_db_thread(waiting_row, scene))
    await asyncio.wait_for(ending.wait(), 5)
    await resolution.answer_inquiry(row.pk, "true", decider(scene.ada))
    assert (await fresh(run)).state == "queued"
    go_on.set()
    await wait_for_task(task)
    second = await eventually(lambda: run_in_db_thread(waiting_row, scene, row.pk))
    assert second.pk != row.pk
    assert await runs.stop_run(scene.conversation.pk, decider(scene.ada))
    await wait_until_ended(run)


def waiting_row(scene: Scene, besides: int = 0) -> Inquiry | None:
    open_inquiries = Inquiry.objects.filter(conversation=scene.conversation, state="open")
    return open_inquiries.exclude(pk=besides).first()


async def test_a_server_without_workers_takes_up_no_more_than_it_has_room_for(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    provider = Twice()
    providers.use_provider(monkeypatch, provider)
    run, _ = await scene.start()
    await asyncio.wait_for(provider.start_event.wait(), SOON)
    await runs.release_runs()
    monkeypatch.setattr(run_executor, "MAX_EMBEDDED_RUNS", 0)
    await run_executor.check_and_recover()
    await publisher.publish_run_changed(run.pk)
    assert run_executor._active_runs == {}
    assert (await fresh(run)).state == "queued"
    monkeypatch.setattr(run_executor, "MAX_EMBEDDED_RUNS", 1)
    await run_executor.check_and_recover()
    assert (await wait_until_ended(run)).state == "done"


async def test_leaving_while_an_answer_is_committed_does_not_hide_it(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch)
    _, task = await scene.start()
    row = await scene.get_question()
    entered, go_on = threading.Event(), threading.Event()
    real = journal.append_events

    def append(*words: Any) -> int:
        result = real(*words)
        entered.set()
        assert go_on.wait(5)
        return result

    monkeypatch.setattr(journal, "append_events", append)
    request = asyncio.create_task(resolution.answer_inquiry(row.pk, "true", decider(scene.ada)))
    async with subscribe(publisher.make_workspace_topic(scene.workspace.pk)) as hear:
        await asyncio.to_thread(entered.wait, 5)
        request.cancel()
        go_on.set()
        monkeypatch.setattr(journal, "append_events", real)
        with pytest.raises(asyncio.CancelledError):
            await request
        assert await hear()
    await scene.get_question()
    assert await runs.stop_run(scene.conversation.pk, decider(scene.ada))
    await wait_for_task(task)


class Counts:
    """Says one thing, and reports its tokens."""

    NAME = "counts"

    async def stream(self, _request: object) -> Any:
        yield TokenUsage()
        yield TextDelta("message", "Done.")
        yield TokenUsage(120, 7, 100)
        yield ReplyFinished()


async def test_a_run_keeps_the_tokens_that_its_provider_reports(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    providers.use_provider(monkeypatch, Counts())
    run, task = await scene.start()
    await wait_for_task(task)
    row = await wait_until_ended(run)
    assert (row.turn_number, row.request_count, row.reported_count) == (0, 1, 1)
    assert (row.input_tokens, row.output_tokens, row.cache_read_tokens) == (120, 7, 100)

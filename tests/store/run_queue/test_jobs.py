from __future__ import annotations

import pytest

from jpweb.store import runs
from jpweb.store.choices import InterruptKind, Role
from jpweb.store.models import Run, Workspace
from jpweb.store.run_queue import job_engine, jobs, leases
from jpweb.stream.inquiry import Answered
from tests.store import making


def test_enqueue_job_defers_nothing_when_the_server_executes_runs(monkeypatch: pytest.MonkeyPatch):
    run_ids: list[int] = []
    monkeypatch.setattr(job_engine, "defer_job", run_ids.append)
    jobs.enqueue_job(1)
    assert run_ids == []


def test_enqueue_job_defers_a_job_with_the_key_of_the_run(
    settings, monkeypatch: pytest.MonkeyPatch
):
    settings.RUN_MODE = "workers"
    run_ids: list[int] = []
    monkeypatch.setattr(job_engine, "defer_job", run_ids.append)
    jobs.enqueue_job(7)
    assert run_ids == [7]


@pytest.mark.django_db
def test_postponed_run_is_unchanged_and_defers_no_job(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
):
    run = making.start_run(making.conversation(workspace, "A talk"))
    row = making.question(run)
    assert runs.park_run(run, [row.pk], [])
    making.settle(row, Answered(True))
    monkeypatch.setattr(jobs, "enqueue_job", lambda _run_id: pytest.fail("it enqueued a job"))
    assert leases.postpone_run(making.acquire_run(run)) is True
    postponed = Run.objects.get(pk=run.pk)
    assert (postponed.state, postponed.phase, postponed.holder) == ("queued", "waiting", "")
    assert (postponed.resume_count, postponed.lease_until) == (0, None)
    assert leases.list_queued() == [run.pk]
    assert leases.list_queued(3600) == []
    assert leases.postpone_run(run) is False, "an older fence postpones nothing"


@pytest.mark.django_db
def test_stop_that_comes_while_a_run_tries_its_files_ends_it(workspace: Workspace):
    run = making.start_run(making.conversation(workspace, "A talk"))
    row = making.question(run)
    stopper = making.decider(making.person("ada", Role.RESPONDER, workspace))
    assert runs.interrupt_run(run.conversation_id, InterruptKind.STOP, stopper) == run
    assert runs.postpone_run(run) is False
    ended = Run.objects.get(pk=run.pk)
    row.refresh_from_db()
    assert (ended.state, row.reason, row.decider_name) == ("stopped", "user", stopper.name)

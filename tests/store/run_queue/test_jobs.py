from __future__ import annotations

import pytest

from jpweb.store.run_queue import job_engine, jobs


def test_where_the_server_executes_runs_itself_nobody_is_told(monkeypatch: pytest.MonkeyPatch):
    run_ids: list[int] = []
    monkeypatch.setattr(job_engine, "defer_job", run_ids.append)
    jobs.enqueue_job(1)
    assert run_ids == []


def test_workers_are_told_the_key_of_the_run(settings, monkeypatch: pytest.MonkeyPatch):
    settings.RUNS = "workers"
    run_ids: list[int] = []
    monkeypatch.setattr(job_engine, "defer_job", run_ids.append)
    jobs.enqueue_job(7)
    assert run_ids == [7]

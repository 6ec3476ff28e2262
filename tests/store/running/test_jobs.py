from __future__ import annotations

import pytest

from jpweb.store.running import engine, jobs


def test_where_the_server_executes_runs_itself_nobody_is_told(monkeypatch: pytest.MonkeyPatch):
    told: list[int] = []
    monkeypatch.setattr(engine, "defer", told.append)
    jobs.enqueue(1)
    assert told == []


def test_workers_are_told_the_key_of_the_run(settings, monkeypatch: pytest.MonkeyPatch):
    settings.RUNS = "workers"
    told: list[int] = []
    monkeypatch.setattr(engine, "defer", told.append)
    jobs.enqueue(7)
    assert told == [7]

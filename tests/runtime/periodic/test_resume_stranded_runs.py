from __future__ import annotations

import pytest

from jpweb.runtime.broadcast import local_bus
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.execution import run_executor
from jpweb.runtime.periodic.resume_stranded_runs import requeue_stranded_runs
from jpweb.store import runs
from jpweb.store.models import Inquiry
from tests.runtime.playing import Scene


async def test_requeue_stranded_runs_queues_parked_runs_without_open_questions(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        run_executor, "MAX_EMBEDDED_RUNS", 0
    )  # it is told of, and not taken up here
    row = await scene.question()
    assert row.run is not None
    assert await run_in_db_thread(runs.park_run, row.run, [row.pk], [])
    assert await requeue_stranded_runs() == 0
    await run_in_db_thread(Inquiry.objects.filter(pk=row.pk).update, state="answered")
    signals: list[local_bus.Signal] = []
    run_topic = local_bus.make_kind_topic("run")
    local_bus.add_subscriber(run_topic, signals.append)
    try:
        assert await requeue_stranded_runs() == 1
    finally:
        local_bus.remove_subscriber(run_topic, signals.append)
    assert [signal["run"] for signal in signals] == [row.run.pk]

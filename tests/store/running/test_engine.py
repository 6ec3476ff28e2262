from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from procrastinate import App, utils
from procrastinate.testing import InMemoryConnector

from jpweb.store.running import engine


async def test_retry_job_of_a_worker_whose_clock_is_ahead_is_due_at_once(
    monkeypatch: pytest.MonkeyPatch,
):
    app = App(connector=InMemoryConnector())
    app.job_manager = engine._Persistent(app.connector)
    app.task(name=engine.TASK, queue=engine.QUEUE)(print)
    worker = await app.job_manager.register_worker()
    await app.configure_task(engine.TASK).defer_async()
    job = await app.job_manager.fetch_job([engine.QUEUE], worker)
    assert job is not None
    ahead = datetime.now(UTC) + timedelta(minutes=10)
    with monkeypatch.context() as patch:
        patch.setattr(utils, "utcnow", lambda: ahead)
        await app.job_manager.retry_job(job)
    again = await app.job_manager.fetch_job([engine.QUEUE], worker)
    assert again is not None
    assert again.id == job.id

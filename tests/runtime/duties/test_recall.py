from __future__ import annotations

import pytest

from jpweb.runtime.crossing import in_store
from jpweb.runtime.duties.recall import recall_stranded
from jpweb.runtime.executing import holding
from jpweb.runtime.signals import fanout
from jpweb.store import runs
from jpweb.store.models import Inquiry
from tests.runtime.playing import Scene


async def test_what_nothing_would_wake_is_queued_and_told_of(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(holding, "AT_ONCE", 0)  # it is told of, and not taken up here
    row = await scene.question()
    assert row.run is not None
    assert await in_store(runs.park, row.run, [row.pk], [])
    assert await recall_stranded() == 0
    await in_store(Inquiry.objects.filter(pk=row.pk).update, state="answered")
    told: list[int] = []
    undo = fanout.subscribe("run", lambda signal: told.append(signal["run"]))
    try:
        assert await recall_stranded() == 1
    finally:
        undo()
    assert told == [row.run.pk]

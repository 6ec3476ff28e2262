from __future__ import annotations

import pytest

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.recorder import JournalRecorder, SocketDisplay
from jpweb.stream.inquiry import Answered, InquiryResponse
from tests.builders import make_inquiry
from tests.runtime.playing import Scene
from tests.store import making


@pytest.mark.parametrize("is_settled", [True, False])
async def test_record_keeps_the_row_of_a_question_until_it_is_settled(
    scene: Scene, is_settled: bool
):
    run = await run_in_db_thread(making.start_run, scene.talk)
    recorder = JournalRecorder(run, scene.talk.workspace_id, SocketDisplay(scene.talk.pk))
    await recorder.record(making.event(make_inquiry("c.go_on.1", "Go on?")))
    assert list(recorder.opened_rows) == ["c.go_on.1"]
    if is_settled:
        await recorder.record(making.event(InquiryResponse("c.go_on.1", Answered(True))))
    assert bool(recorder.opened_rows) is not is_settled

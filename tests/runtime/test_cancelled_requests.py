"""Requests that end while their commit waits: it is published nevertheless."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from jpweb.runtime import runs
from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import approvals, resolution
from jpweb.runtime.inquiries.approvals import ApprovalVerdict
from jpweb.store import approvals as approval_rows
from jpweb.store import journal
from jpweb.store import runs as run_rows
from jpweb.store.models import Approval, Inquiry, Run
from tests.runtime.playing import SOON, Scene, subscribe
from tests.store import making
from tests.store.making import decider


async def prepare_answer(scene: Scene) -> Coroutine[Any, Any, Any]:
    row = await scene.question()
    return resolution.answer_inquiry(row.pk, "true", decider(scene.ada))


async def prepare_decision(scene: Scene) -> Coroutine[Any, Any, Any]:
    run = await run_in_db_thread(making.start_run, scene.conversation, scene.ada)
    row = await run_in_db_thread(making.prompt, run)
    return approvals.decide_approval(row.pk, ApprovalVerdict(True), decider(scene.ada))


async def prepare_stop(scene: Scene) -> Coroutine[Any, Any, Any]:
    await run_in_db_thread(run_rows.start_run, scene.conversation.pk, scene.ada.pk, "scripted")
    return runs.stop_run(scene.conversation.pk, decider(scene.ada))


CASES: dict[str, tuple[Any, Any, str, Any, str]] = {
    "answer": (prepare_answer, journal, "append_events", Inquiry, "answered"),
    "decision": (prepare_decision, approval_rows, "decide_approval", Approval, "decided"),
    "stop": (prepare_stop, run_rows, "interrupt_run", Run, "stopped"),
}


@pytest.mark.parametrize("name", CASES)
async def test_commit_that_outlives_its_request_is_published(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, name: str
):
    prepare, module, function_name, model, state = CASES[name]
    request = asyncio.create_task(await prepare(scene))
    enter_event, go_on = threading.Event(), threading.Event()
    commit: Callable[..., Any] = getattr(module, function_name)

    def commit_later(*arguments: Any, **options: Any) -> Any:
        enter_event.set()
        assert go_on.wait(SOON)
        return commit(*arguments, **options)

    monkeypatch.setattr(module, function_name, commit_later)
    async with subscribe(publisher.make_workspace_topic(scene.workspace.pk)) as hear:
        assert await asyncio.to_thread(enter_event.wait, SOON)
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        for _ in range(50):
            await asyncio.sleep(0)
        assert hear.take_all() == [], "pages would query what is not committed yet"
        go_on.set()
        assert await hear() == {"kind": "questions"}
    assert (await run_in_db_thread(model.objects.get)).state == state

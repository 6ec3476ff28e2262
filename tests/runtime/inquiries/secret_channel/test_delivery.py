from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, cast

import pytest
from django.views.debug import ExceptionReporter

from jpweb.runtime.inquiries import resolution
from jpweb.runtime.inquiries.secret_channels import (
    AssociatedData,
    SealKey,
    SecretChannel,
    UndecryptableSecret,
    seal_secret,
)
from jpweb.runtime.inquiries.secret_handover import SecretHandover
from jpweb.store.errors import AlreadySettled
from jpweb.store.inquiries import Decider
from jpweb.store.models import Inquiry
from jpweb.stream.answer_type import Secret
from jpweb.stream.inquiry import InquiryResponse, Redacted
from tests.canary.spellings import has_secret
from tests.runtime.inquiries.secret_channel.wire import (
    CANARY,
    WEB,
    WORKER,
    Looks,
    ProcessWire,
    expect_secret,
    is_truthy,
    is_waiter,
)
from tests.runtime.playing import Scene, eventually, start_waiting, wait_for_task
from tests.store.making import decider

BY = Decider("person", "Ada", 1)


async def test_a_secret_reaches_the_call_in_another_process(
    scene: Scene,
    wire: ProcessWire,
    web: SecretChannel,
    worker: SecretChannel,
    caplog: pytest.LogCaptureFixture,
):
    caplog.set_level(logging.DEBUG)
    row = await scene.question(Secret())
    call = await start_waiting(row, resolution.wait_for_secret)
    waiting_row = await scene.reload(row)
    assert (waiting_row.waiter, len(base64.b64decode(waiting_row.seal_key))) == (WORKER, 32)
    await web.deliver_secret(row.pk, CANARY, decider(scene.ada))
    assert await wait_for_task(call) == CANARY
    settled_row = await scene.reload(row)
    assert (settled_row.state, settled_row.decider_name) == ("redacted", "Ada")
    assert (settled_row.waiter, settled_row.seal_key) == ("", "")
    assert (await scene.elements())[-1].kind == InquiryResponse(row.inquiry_id, Redacted())
    assert [name for name, _ in wire.messages] == [WORKER, WEB]
    texts = (
        repr(wire.messages) + await scene.texts() + "".join(str(r.__dict__) for r in caplog.records)
    )
    assert not has_secret(texts, CANARY)
    assert web._acknowledgements == {}
    assert worker._seal_keys == {}


async def test_answering_sends_the_secret_to_the_waiting_call(
    scene: Scene, wire: ProcessWire, web: SecretChannel, worker: SecretChannel, monkeypatch
):
    row = await scene.question(Secret())
    call = await start_waiting(row, resolution.wait_for_secret)
    monkeypatch.setattr(resolution, "secret_channel", web)
    settled_row = await resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada))
    assert (settled_row.state, settled_row.decider_name) == ("redacted", "Ada")
    assert await wait_for_task(call) == CANARY


async def test_deliver_secret_returns_after_the_outcome_is_recorded(
    scene: Scene,
    web: SecretChannel,
    worker: SecretChannel,
    look_counter: Looks,
    monkeypatch: pytest.MonkeyPatch,
):
    row = await scene.question(Secret())
    settling, release, real = asyncio.Event(), asyncio.Event(), resolution.settle_inquiry

    async def slow(*args: Any) -> Inquiry:
        settling.set()
        await release.wait()
        return await real(*args)

    monkeypatch.setattr(resolution, "settle_inquiry", slow)
    call = await start_waiting(row, resolution.wait_for_secret)
    answer = asyncio.create_task(web.deliver_secret(row.pk, CANARY, decider(scene.ada)))
    await settling.wait()
    await look_counter.wait()
    assert (await scene.reload(row)).state == "open"
    assert not answer.done()
    release.set()
    await wait_for_task(answer)
    assert await wait_for_task(call) == CANARY


async def test_deliver_secret_after_a_decline_reports_the_decline(
    scene: Scene,
    wire: ProcessWire,
    web: SecretChannel,
    worker: SecretChannel,
    monkeypatch: pytest.MonkeyPatch,
):
    row = await scene.question(Secret())
    real = resolution.settle_inquiry

    async def settle_late(*args: Any) -> Inquiry:
        monkeypatch.setattr(resolution, "settle_inquiry", real)
        await resolution.decline_inquiry(row.pk, decider(scene.eve))
        return await real(*args)

    call = await start_waiting(row, resolution.wait_for_secret)
    monkeypatch.setattr(resolution, "settle_inquiry", settle_late)
    with pytest.raises(AlreadySettled) as error:
        await web.deliver_secret(row.pk, CANARY, decider(scene.ada))
    assert error.value.inquiry.decider_name == "Eve"
    assert (await wait_for_task(call)).state == "cancelled"
    assert wire.list_outcomes() == ["settled"]


async def test_concurrent_deliver_secret_settles_once_and_reports_the_loser(
    scene: Scene, wire: ProcessWire, web: SecretChannel, worker: SecretChannel
):
    row = await scene.question(Secret())
    second = wire.process("web#2")
    call = await start_waiting(row, resolution.wait_for_secret)
    results = await asyncio.gather(
        web.deliver_secret(row.pk, "first", decider(scene.ada)),
        second.deliver_secret(row.pk, "second", decider(scene.eve)),
        return_exceptions=True,
    )
    assert sorted(map(type, results), key=str) == sorted([type(None), AlreadySettled], key=str)
    winner = "Ada" if results[0] is None else "Eve"
    assert await wait_for_task(call) == {"Ada": "first", "Eve": "second"}[winner]
    assert (await scene.reload(row)).decider_name == winner


async def test_second_secret_of_a_person_reports_the_first(
    scene: Scene, wire: ProcessWire, web: SecretChannel, worker: SecretChannel
):
    row = await scene.question(Secret())
    call = await start_waiting(row, resolution.wait_for_secret)
    results = await asyncio.gather(
        *(web.deliver_secret(row.pk, value, decider(scene.ada)) for value in ("first", "second")),
        return_exceptions=True,
    )
    assert sorted(map(type, results), key=str) == sorted([type(None), AlreadySettled], key=str)
    assert await wait_for_task(call) == ("first" if results[0] is None else "second")


async def test_a_call_of_this_process_is_passed_by_where_another_process_waits(
    scene: Scene, wire: ProcessWire, web: SecretChannel, worker: SecretChannel
):
    row = await scene.question(Secret())
    local_task = asyncio.create_task(expect_secret(web, row))
    await eventually(lambda: is_truthy(web._seal_keys))
    call = await start_waiting(row, resolution.wait_for_secret)
    await eventually(lambda: is_waiter(scene, row, WORKER))
    await web.deliver_secret(row.pk, CANARY, decider(scene.ada))
    assert await wait_for_task(call) == CANARY
    local_task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await local_task


async def test_second_wait_for_a_secret_keeps_the_seal_key(
    scene: Scene, wire: ProcessWire, web: SecretChannel, worker: SecretChannel
):
    """A run that was parked and resumed waits twice for a moment."""
    row = await scene.question(Secret())
    first = asyncio.create_task(expect_secret(worker, row))
    await eventually(lambda: is_truthy(worker._seal_keys))
    call = await start_waiting(row, resolution.wait_for_secret)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    await web.deliver_secret(row.pk, CANARY, decider(scene.ada))
    assert await wait_for_task(call) == CANARY
    assert worker._seal_keys == {}


async def test_a_report_of_a_crash_holds_no_secret(
    scene: Scene,
    wire: ProcessWire,
    web: SecretChannel,
    worker: SecretChannel,
    monkeypatch: pytest.MonkeyPatch,
):
    row = await scene.question(Secret())
    call = await start_waiting(row, resolution.wait_for_secret)
    monkeypatch.setattr(resolution, "secret_channel", web)

    def breaks(data: dict[str, Any]) -> list[dict[str, Any]]:
        raise RuntimeError("boom")

    wire.replace_message = breaks
    with pytest.raises(RuntimeError) as broken:
        await resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada))
    report = ExceptionReporter(None, broken.type, broken.value, broken.tb)
    report_text = report.get_traceback_text() + report.get_traceback_html()
    assert "boom" in report_text
    assert "errand" in report_text
    assert CANARY not in report_text
    await resolution.decline_inquiry(row.pk, decider(scene.eve))
    await wait_for_task(call)


async def handed_over() -> None:
    handover = SecretHandover()
    with handover.expect_secret(1) as arrival:
        task = asyncio.create_task(handover.deliver_secret(1, CANARY, BY))
        (await arrival).receipt.set_exception(RuntimeError("boom"))
        await task


async def sealed() -> None:
    seal_secret(CANARY, "no key", AssociatedData(1, "q", WORKER, "m", BY))


async def deliver_to_broken_handover() -> None:
    courier, lock = ProcessWire().process(WORKER), SealKey("q")
    courier._seal_keys[1] = lock
    courier._handover = cast("SecretHandover", None)  # so that handing it over breaks
    message = {"inquiry": 1, "by": asdict(BY)}
    message["sealed"] = seal_secret(
        CANARY, lock.public_key, AssociatedData(1, "q", WORKER, "m", BY)
    )
    await courier._deliver_locally("m", message)


@pytest.mark.parametrize("way", [handed_over, sealed, deliver_to_broken_handover])
async def test_error_reports_of_secret_delivery_hide_the_secret(way: Callable[[], Awaitable[None]]):
    with pytest.raises((RuntimeError, UndecryptableSecret, AttributeError)) as broken:
        await way()
    report_html = ExceptionReporter(None, broken.type, broken.value, broken.tb).get_traceback_html()
    assert "CANARY" in report_html, "the lines are there"
    assert CANARY not in report_html

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import receipt_buffer
from jpweb.store.inbox import receipt_log
from jpweb.store.models import DisplayReceipt, Membership
from tests.runtime.playing import Scene, eventually


@pytest.fixture(autouse=True)
def nothing_held() -> Iterator[None]:
    for buffer in (
        receipt_buffer._pending_receipts,
        receipt_buffer._pending_counts,
        receipt_buffer._written_receipts,
    ):
        buffer.clear()
    yield
    for buffer in (
        receipt_buffer._pending_receipts,
        receipt_buffer._pending_counts,
        receipt_buffer._written_receipts,
    ):
        buffer.clear()


def list_receipts() -> list[DisplayReceipt]:
    return list(DisplayReceipt.objects.order_by("person_id"))


async def test_flush_receipts_writes_reports_of_pages(scene: Scene):
    row = await scene.question()
    receipt_buffer.note_delivered(scene.ada.pk, [row.pk])
    receipt_buffer.note_reports(
        scene.ada.pk, [(row.pk, "visible"), (row.pk, "draft"), (row.pk, "nonsense")]
    )
    receipt_buffer.note_reports(scene.eve.pk, [(row.pk, "focused")])
    assert await run_in_db_thread(list_receipts) == []
    await receipt_buffer.flush_receipts()
    ada, eve = await run_in_db_thread(list_receipts)
    assert (ada.person_id, eve.person_id) == (scene.ada.pk, scene.eve.pk)
    times = [ada.delivered_at, ada.visible_at, ada.draft_at]
    assert None not in times
    assert times == sorted(filter(None, times))
    assert ada.focused_at is None
    assert eve.delivered_at == eve.focused_at


async def test_receipt_buffer_ignores_repeated_reports(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    row = await scene.question()
    receipt_buffer.note_delivered(scene.ada.pk, [row.pk])
    await receipt_buffer.flush_receipts()
    receipt_buffer.note_delivered(scene.ada.pk, [row.pk])
    assert receipt_buffer._pending_receipts == {}
    receipt_buffer.note_reports(scene.ada.pk, [(row.pk, "visible"), (row.pk, "visible")])
    assert len(receipt_buffer._pending_receipts) == 1
    monkeypatch.setattr(receipt_buffer, "MAX_PENDING_RECEIPTS", 0)
    await receipt_buffer.flush_receipts()
    assert (
        len(receipt_buffer._written_receipts) == 1
    )  # what was known before was too much, and is forgotten


async def test_receipts_are_written_once_the_person_may_answer(scene: Scene):
    row = await scene.question()
    roles = Membership.objects.filter(person=scene.ada)
    await run_in_db_thread(roles.update, role=10)
    for role, length in ((10, 0), (20, 1)):
        await run_in_db_thread(roles.update, role=role)
        receipt_buffer.note_delivered(scene.ada.pk, [row.pk])
        await receipt_buffer.flush_receipts()
        assert len(await run_in_db_thread(list_receipts)) == length


async def test_flush_receipts_keeps_receipts_during_a_database_outage(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    row = await scene.question()
    real, first = receipt_log.save_receipts, []

    def raise_unavailable(receipts: Any) -> Any:
        first.extend(receipts.values())
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr(receipt_log, "save_receipts", raise_unavailable)
    receipt_buffer.note_delivered(scene.ada.pk, [row.pk])
    with caplog.at_level(logging.WARNING):
        await receipt_buffer.flush_receipts()
    assert "could not be saved: the server closed" in caplog.text
    monkeypatch.setattr(receipt_log, "save_receipts", real)
    receipt_buffer.note_delivered(scene.ada.pk, [row.pk])
    await receipt_buffer.flush_receipts()
    (receipt,) = await run_in_db_thread(list_receipts)
    assert receipt.delivered_at == first[0].delivered


async def test_the_receipts_of_one_question_are_written_alone(scene: Scene):
    row, other_row = await scene.question(), await scene.question()
    receipt_buffer.note_reports(scene.ada.pk, [(row.pk, "visible"), (other_row.pk, "visible")])
    await run_in_db_thread(receipt_buffer.flush_question, row.pk)
    (receipt,) = await run_in_db_thread(list_receipts)
    assert receipt.inquiry_id == row.pk
    assert list(receipt_buffer._pending_receipts) == [(other_row.pk, scene.ada.pk)]
    assert receipt_buffer._pending_counts[scene.ada.pk] == 1
    receipt_buffer.note_reports(scene.ada.pk, [(row.pk, "visible")])
    assert len(receipt_buffer._pending_receipts) == 1, "it is written once"


async def test_receipts_of_one_question_are_kept_without_the_database(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    def raise_unavailable(_receipts: Any) -> Any:
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr(receipt_log, "save_receipts", raise_unavailable)
    receipt_buffer.note_delivered(scene.ada.pk, [7])
    receipt_buffer.flush_question(7)
    assert list(receipt_buffer._pending_receipts) == [(7, scene.ada.pk)]


async def test_full_receipt_buffer_drops_further_receipts(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    row = await scene.question()
    monkeypatch.setattr(receipt_buffer, "MAX_PENDING_RECEIPTS", 2)
    receipt_buffer.note_reports(scene.ada.pk, [(key, "visible") for key in (row.pk, 10**6, 10**7)])
    receipt_buffer.note_reports(scene.ada.pk, [(row.pk, "focused")])
    assert len(receipt_buffer._pending_receipts) == 2
    await receipt_buffer.flush_receipts()
    (receipt,) = await run_in_db_thread(list_receipts)
    assert receipt.focused_at is not None


async def test_flush_periodically_writes_until_it_is_cancelled(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(receipt_buffer, "FLUSH_INTERVAL_SECONDS", 0.01)
    row = await scene.question()
    task = asyncio.create_task(receipt_buffer.flush_periodically())

    for length, person in enumerate((scene.ada, scene.eve), 1):
        receipt_buffer.note_delivered(person.pk, [row.pk])

        async def is_written(length: int = length) -> bool:
            return len(await run_in_db_thread(list_receipts)) == length

        await eventually(is_written)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_receipt_buffer_limits_receipts_per_person(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(receipt_buffer, "MAX_PENDING_PER_PERSON", 2)
    receipt_buffer.note_reports(1, [(key, "visible") for key in range(10)])
    receipt_buffer.note_reports(1, [(0, "focused")])
    receipt_buffer.note_reports(2, [(7, "visible")])
    assert list(receipt_buffer._pending_receipts) == [(0, 1), (1, 1), (7, 2)]
    assert receipt_buffer._pending_receipts[0, 1].focused is not None

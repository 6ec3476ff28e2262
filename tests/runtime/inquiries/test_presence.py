from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress

import pytest
from django.db import OperationalError
from django.db.models.functions import Now

from jpweb.runtime import process_identity
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import presence
from jpweb.store.choices import Role
from jpweb.store.inbox import presence as rows
from jpweb.store.models import Membership, Presence
from tests.runtime.playing import Scene, eventually


@pytest.fixture(autouse=True)
def _nobody(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    book = presence._PresenceRegistry()
    monkeypatch.setattr(presence, "_registry", book)
    yield
    assert book.pairs_by_page == {}
    assert not book.page_counts


async def test_presence_lasts_until_the_last_page_of_a_person_closes(scene: Scene):
    assert not await presence.is_reachable(scene.workspace.pk)
    for page in ("a", "b"):
        await presence.register_pages([(page, scene.ada.pk, [scene.workspace.pk])])
    await presence.unregister_page("a")
    assert await presence.is_reachable(scene.workspace.pk)
    await presence.unregister_page("b")
    await presence.unregister_page("b")
    assert not await presence.is_reachable(scene.workspace.pk)


async def test_presence_of_a_page_follows_its_last_report(scene: Scene):
    await presence.register_pages([("a", scene.ada.pk, [scene.workspace.pk])])
    await presence.register_pages([("a", scene.eve.pk, [scene.workspace.pk])])
    assert await run_in_db_thread(rows.list_present, scene.workspace.pk) == [scene.eve]
    await presence.register_pages([("a", scene.eve.pk, [])])
    assert not await presence.is_reachable(scene.workspace.pk)


async def test_presence_of_many_pages_of_a_person_is_one_row_and_one_write(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    writes: list[object] = []
    arrive = rows.record_presence

    def count_write(name: str, pairs: set[rows.PresenceKey]) -> None:
        writes.append(pairs)
        arrive(name, pairs)

    monkeypatch.setattr(rows, "record_presence", count_write)
    pages = [
        (n, person.pk, [scene.workspace.pk]) for n, person in enumerate([scene.ada, scene.eve] * 20)
    ]
    await asyncio.gather(*(presence.register_pages([page]) for page in pages))
    assert len(writes) <= 2, "the first goes at once; who comes meanwhile goes together"
    assert await run_in_db_thread(Presence.objects.count) == 2
    await asyncio.gather(*(presence.unregister_page(page) for page, _, _ in pages))
    assert await run_in_db_thread(Presence.objects.count) == 0


async def test_the_rows_are_kept_fresh_for_as_long_as_the_pages_are_there(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(presence, "HEARTBEAT_SECONDS", 0.01)
    await presence.register_pages([("a", scene.ada.pk, [scene.workspace.pk])])
    for drop_rows in (Presence.objects.all().delete, _grow_old):
        await run_in_db_thread(drop_rows)
        assert not await presence.is_reachable(scene.workspace.pk)
        beating = asyncio.create_task(presence.refresh_presence())
        await eventually(lambda: presence.is_reachable(scene.workspace.pk))
        beating.cancel()
        with suppress(asyncio.CancelledError):
            await beating
    await presence.unregister_page("a")


def _grow_old() -> None:
    Presence.objects.update(seen_at=Now() - 2 * rows.FRESH_FOR)


async def test_presence_heartbeat_survives_a_database_outage(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(presence, "HEARTBEAT_SECONDS", 0.01)
    arrive = rows.record_presence

    def raise_unavailable(*_: object) -> None:
        raise OperationalError("away")

    monkeypatch.setattr(rows, "record_presence", raise_unavailable)
    await presence.register_pages([("a", scene.ada.pk, [scene.workspace.pk])])
    beating = asyncio.create_task(presence.refresh_presence())
    await eventually(lambda: _said(caplog, "could not be refreshed: away"))
    monkeypatch.setattr(rows, "record_presence", arrive)
    await eventually(lambda: presence.is_reachable(scene.workspace.pk))
    beating.cancel()
    with suppress(asyncio.CancelledError):
        await beating
    await presence.unregister_page("a")


async def _said(caplog: pytest.LogCaptureFixture, words: str) -> bool:
    return words in caplog.text


async def test_process_that_ends_removes_its_own_presences_alone(scene: Scene):
    await presence.register_pages([("a", scene.ada.pk, [scene.workspace.pk])])
    await run_in_db_thread(rows.record_presence, "another", {(scene.eve.pk, scene.workspace.pk)})
    assert (
        await run_in_db_thread(
            Presence.objects.filter(process=process_identity.get_process_name()).count
        )
        == 1
    )
    await presence.unregister_all()
    assert await run_in_db_thread(rows.list_present, scene.workspace.pk) == [scene.eve]
    await presence.unregister_page("a")


async def test_presence_of_a_person_who_became_a_reader_does_not_count(scene: Scene):
    await presence.register_pages([("a", scene.ada.pk, [scene.workspace.pk])])
    member = Membership.objects.filter(person=scene.ada)
    await run_in_db_thread(member.update, role=Role.READER)
    assert not await presence.is_reachable(scene.workspace.pk)
    await presence.unregister_page("a")

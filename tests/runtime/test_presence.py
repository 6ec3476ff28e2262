from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress

import pytest
from django.db import OperationalError
from django.db.models.functions import Now

from jpweb.runtime import presence, process
from jpweb.runtime.crossing import in_store
from jpweb.store.models import Membership, Presence
from jpweb.store.telling import presence as rows
from jpweb.store.terms import Role
from tests.runtime.playing import Scene, eventually


@pytest.fixture(autouse=True)
def _nobody(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    book = presence._Book()
    monkeypatch.setattr(presence, "_book", book)
    yield
    assert book.pages == {}
    assert not book.pairs


async def test_a_person_is_reachable_until_the_last_page_is_gone(scene: Scene):
    assert not await presence.reachable(scene.home.pk)
    for page in ("a", "b"):
        await presence.arrive([(page, scene.ada.pk, [scene.home.pk])])
    await presence.leave("a")
    assert await presence.reachable(scene.home.pk)
    await presence.leave("b")
    await presence.leave("b")
    assert not await presence.reachable(scene.home.pk)


async def test_a_page_counts_as_it_says_last(scene: Scene):
    await presence.arrive([("a", scene.ada.pk, [scene.home.pk])])
    await presence.arrive([("a", scene.eve.pk, [scene.home.pk])])
    assert await in_store(rows.people, scene.home.pk) == [scene.eve]
    await presence.arrive([("a", scene.eve.pk, [])])
    assert not await presence.reachable(scene.home.pk)


async def test_many_pages_of_one_person_are_one_row_and_one_write(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    written: list[object] = []
    arrive = rows.arrive

    def counted(name: str, pairs: set[rows.Pair]) -> None:
        written.append(pairs)
        arrive(name, pairs)

    monkeypatch.setattr(rows, "arrive", counted)
    pages = [(n, who.pk, [scene.home.pk]) for n, who in enumerate([scene.ada, scene.eve] * 20)]
    await asyncio.gather(*(presence.arrive([page]) for page in pages))
    assert len(written) <= 2, "the first goes at once; who comes meanwhile goes together"
    assert await in_store(Presence.objects.count) == 2
    await asyncio.gather(*(presence.leave(page) for page, _, _ in pages))
    assert await in_store(Presence.objects.count) == 0


async def test_the_rows_are_kept_fresh_for_as_long_as_the_pages_are_there(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(presence, "BEAT", 0.01)
    await presence.arrive([("a", scene.ada.pk, [scene.home.pk])])
    for gone in (Presence.objects.all().delete, _grow_old):
        await in_store(gone)
        assert not await presence.reachable(scene.home.pk)
        beating = asyncio.create_task(presence.beat())
        await eventually(lambda: presence.reachable(scene.home.pk))
        beating.cancel()
        with suppress(asyncio.CancelledError):
            await beating
    await presence.leave("a")


def _grow_old() -> None:
    Presence.objects.update(seen_at=Now() - 2 * rows.FRESH)


async def test_a_database_that_is_away_ends_no_beat_and_turns_nobody_away(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(presence, "BEAT", 0.01)
    arrive = rows.arrive

    def away(*_: object) -> None:
        raise OperationalError("away")

    monkeypatch.setattr(rows, "arrive", away)
    await presence.arrive([("a", scene.ada.pk, [scene.home.pk])])
    beating = asyncio.create_task(presence.beat())
    await eventually(lambda: _said(caplog, "not refreshed: away"))
    monkeypatch.setattr(rows, "arrive", arrive)
    await eventually(lambda: presence.reachable(scene.home.pk))
    beating.cancel()
    with suppress(asyncio.CancelledError):
        await beating
    await presence.leave("a")


async def _said(caplog: pytest.LogCaptureFixture, words: str) -> bool:
    return words in caplog.text


async def test_a_process_that_ends_leaves_nobody_behind_and_takes_nobody_elsewhere(scene: Scene):
    await presence.arrive([("a", scene.ada.pk, [scene.home.pk])])
    await in_store(rows.arrive, "another", {(scene.eve.pk, scene.home.pk)})
    assert await in_store(Presence.objects.filter(process=process.name()).count) == 1
    await presence.leave_all()
    assert await in_store(rows.people, scene.home.pk) == [scene.eve]
    await presence.leave("a")


async def test_who_was_made_a_reader_while_their_page_is_open_does_not_count(scene: Scene):
    await presence.arrive([("a", scene.ada.pk, [scene.home.pk])])
    member = Membership.objects.filter(person=scene.ada)
    await in_store(member.update, role=Role.READER)
    assert not await presence.reachable(scene.home.pk)
    await presence.leave("a")

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError

from jpweb.runtime import showing
from jpweb.runtime.crossing import in_store
from jpweb.store.models import Membership, Showing
from jpweb.store.telling import showings
from tests.runtime.playing import Scene, eventually


@pytest.fixture(autouse=True)
def nothing_held() -> Iterator[None]:
    for held in (showing._held, showing._held_by, showing._written):
        held.clear()
    yield
    for held in (showing._held, showing._held_by, showing._written):
        held.clear()


def kept() -> list[Showing]:
    return list(Showing.objects.order_by("person_id"))


async def test_what_pages_say_is_written_at_the_next_turn(scene: Scene):
    row = await scene.question()
    showing.delivered(scene.ada.pk, [row.pk])
    showing.noted(scene.ada.pk, [(row.pk, "visible"), (row.pk, "draft"), (row.pk, "nonsense")])
    showing.noted(scene.eve.pk, [(row.pk, "focused")])
    assert await in_store(kept) == []
    await showing.flush()
    ada, eve = await in_store(kept)
    assert (ada.person_id, eve.person_id) == (scene.ada.pk, scene.eve.pk)
    times = [ada.delivered_at, ada.visible_at, ada.draft_at]
    assert None not in times
    assert times == sorted(filter(None, times))
    assert ada.focused_at is None
    assert eve.delivered_at == eve.focused_at


async def test_what_is_said_again_is_not_written_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    row = await scene.question()
    showing.delivered(scene.ada.pk, [row.pk])
    await showing.flush()
    showing.delivered(scene.ada.pk, [row.pk])
    assert showing._held == {}
    showing.noted(scene.ada.pk, [(row.pk, "visible"), (row.pk, "visible")])
    assert len(showing._held) == 1
    monkeypatch.setattr(showing, "ROOM", 0)
    await showing.flush()
    assert len(showing._written) == 1  # what was known before was too much, and is forgotten


async def test_who_may_not_answer_yet_is_heard_once_they_may(scene: Scene):
    row = await scene.question()
    roles = Membership.objects.filter(person=scene.ada)
    await in_store(roles.update, role=10)
    for role, length in ((10, 0), (20, 1)):
        await in_store(roles.update, role=role)
        showing.delivered(scene.ada.pk, [row.pk])
        await showing.flush()
        assert len(await in_store(kept)) == length


async def test_without_the_database_it_is_kept_for_the_next_time(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    row = await scene.question()
    real, first = showings.keep, []

    def away(seen: Any) -> Any:
        first.extend(seen.values())
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr(showings, "keep", away)
    showing.delivered(scene.ada.pk, [row.pk])
    with caplog.at_level(logging.WARNING):
        await showing.flush()
    assert "could not be written: the server closed" in caplog.text
    monkeypatch.setattr(showings, "keep", real)
    showing.delivered(scene.ada.pk, [row.pk])
    await showing.flush()
    (seen,) = await in_store(kept)
    assert seen.delivered_at == first[0].delivered


async def test_more_than_there_is_room_for_is_dropped(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    row = await scene.question()
    monkeypatch.setattr(showing, "ROOM", 2)
    showing.noted(scene.ada.pk, [(key, "visible") for key in (row.pk, 10**6, 10**7)])
    showing.noted(scene.ada.pk, [(row.pk, "focused")])
    assert len(showing._held) == 2
    await showing.flush()
    (seen,) = await in_store(kept)
    assert seen.focused_at is not None


async def test_it_is_written_now_and_then_until_cancelled(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(showing, "PACE", 0.01)
    row = await scene.question()
    keeping = asyncio.create_task(showing.keep())

    for length, who in enumerate((scene.ada, scene.eve), 1):
        showing.delivered(who.pk, [row.pk])

        async def written(length: int = length) -> bool:
            return len(await in_store(kept)) == length

        await eventually(written)
    keeping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await keeping


async def test_what_one_person_says_leaves_room_for_others(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(showing, "ROOM_EACH", 2)
    showing.noted(1, [(key, "visible") for key in range(10)])
    showing.noted(1, [(0, "focused")])
    showing.noted(2, [(7, "visible")])
    assert list(showing._held) == [(0, 1), (1, 1), (7, 2)]
    assert showing._held[0, 1].focused is not None

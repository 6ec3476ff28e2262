from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Iterator

import pytest

from jpweb.cli import gc_tuning


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


async def test_pauses_are_as_before_once_nobody_keeps_them_short():
    before = list(gc.callbacks)
    keeping = asyncio.create_task(gc_tuning.tune_gc())
    await asyncio.sleep(0)
    assert gc.callbacks != before
    assert gc.get_freeze_count()
    keeping.cancel()
    await asyncio.wait([keeping])
    assert gc.callbacks == before
    assert gc.get_freeze_count() == 0


@pytest.mark.parametrize(("long", "aside"), [(0.0, True), (60.0, False)])
async def test_what_is_left_of_a_long_look_is_set_aside(
    monkeypatch: pytest.MonkeyPatch, long: float, aside: bool
):
    monkeypatch.setattr(gc_tuning, "LONG_COLLECTION_SECONDS", long)
    keeping = asyncio.create_task(gc_tuning.tune_gc())
    await asyncio.sleep(0)
    before, more = gc.get_freeze_count(), [[number] for number in range(1000)]
    gc.collect(1)
    assert gc.get_freeze_count() == before
    gc.collect()
    assert (gc.get_freeze_count() >= before + len(more)) is aside
    keeping.cancel()
    await asyncio.wait([keeping])


async def test_rubbish_that_was_set_aside_goes_once_much_is(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gc_tuning, "COLLECT_INTERVAL_SECONDS", 0.001)
    gone = asyncio.Event()

    class Rubbish:
        def __init__(self) -> None:
            self.own = self

        def __del__(self) -> None:
            gone.set()

    keeping = asyncio.create_task(gc_tuning.tune_gc())
    await asyncio.sleep(0)
    gc.disable()  # until it is set aside
    Rubbish()
    kept = [[number] for number in range(gc.get_freeze_count())]
    gc.freeze()
    gc.enable()
    assert not gone.is_set()
    await asyncio.wait_for(gone.wait(), 10)
    assert kept
    keeping.cancel()
    await asyncio.wait([keeping])


async def test_keep_short_lets_threads_switch_sooner_while_it_runs():
    usual = sys.getswitchinterval()
    keeping = asyncio.create_task(gc_tuning.tune_gc())
    await asyncio.sleep(0)
    assert sys.getswitchinterval() == pytest.approx(gc_tuning.SWITCH_INTERVAL_SECONDS)
    assert usual > gc_tuning.SWITCH_INTERVAL_SECONDS
    keeping.cancel()
    await asyncio.wait([keeping])
    assert sys.getswitchinterval() == pytest.approx(usual)

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Iterator

import pytest

from jpweb.cli import entrypoint, gc_tuning
from tests.machine.sizes import mark_proof


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()  # as it was: a worker's collected tests are set aside


async def test_gc_and_switch_interval_are_restored_when_tuning_ends():
    before, usual = list(gc.callbacks), sys.getswitchinterval()
    task = asyncio.create_task(gc_tuning.tune_gc())
    await asyncio.sleep(0)
    assert gc.callbacks != before
    assert gc.get_freeze_count()
    assert sys.getswitchinterval() == pytest.approx(gc_tuning.SWITCH_INTERVAL_SECONDS)
    assert usual > gc_tuning.SWITCH_INTERVAL_SECONDS
    task.cancel()
    await asyncio.wait([task])
    assert gc.callbacks == before
    assert gc.get_freeze_count() == 0
    assert sys.getswitchinterval() == pytest.approx(usual)


@pytest.mark.parametrize(("long", "aside"), [(0.0, True), *mark_proof((60.0, False))])
async def test_gc_freezes_objects_after_a_long_collection(
    monkeypatch: pytest.MonkeyPatch, long: float, aside: bool
):
    monkeypatch.setattr(gc_tuning, "LONG_COLLECTION_SECONDS", long)
    task = asyncio.create_task(gc_tuning.tune_gc())
    await asyncio.sleep(0)
    before, garbage = gc.get_freeze_count(), [[number] for number in range(1000)]
    gc.collect(1)
    assert gc.get_freeze_count() == before
    gc.collect()
    assert (gc.get_freeze_count() >= before + len(garbage)) is aside
    task.cancel()
    await asyncio.wait([task])


def test_gc_freezes_nothing_after_a_short_collection(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gc_tuning, "LONG_COLLECTION_SECONDS", 60.0)
    tuner, before = gc_tuning._GcTuner(), gc.get_freeze_count()
    for phase in ("start", "stop"):
        tuner.on_collection(phase, {"generation": 2})
    assert gc.get_freeze_count() == before


async def test_gc_unfreezes_after_growth(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gc_tuning, "COLLECT_INTERVAL_SECONDS", 0.001)
    # A worker of the tests has a million objects.
    monkeypatch.setattr(gc_tuning, "GROWTH_FACTOR", 1.01)
    collected_event = asyncio.Event()

    class CyclicGarbage:
        def __init__(self) -> None:
            self.own = self

        def __del__(self) -> None:
            collected_event.set()

    task = asyncio.create_task(gc_tuning.tune_gc())
    await asyncio.sleep(0)
    gc.disable()  # until it is set aside
    CyclicGarbage()
    garbage = [[number] for number in range(gc.get_freeze_count() // 50)]
    gc.freeze()
    gc.enable()
    assert not collected_event.is_set()
    await asyncio.wait_for(collected_event.wait(), 10)
    assert garbage
    task.cancel()
    await asyncio.wait([task])


def test_commands_look_for_garbage_rarely(monkeypatch: pytest.MonkeyPatch):
    usual = gc.get_threshold()
    monkeypatch.setattr(entrypoint, "execute_from_command_line", lambda arguments: None)
    gc.set_threshold(1, *usual[1:])
    try:
        entrypoint.main(["jpweb", "check"])
        assert gc.get_threshold() == (gc_tuning.YOUNG_OBJECTS, *usual[1:])
    finally:
        gc.set_threshold(*usual)

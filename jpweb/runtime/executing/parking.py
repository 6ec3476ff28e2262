"""Puts a run down that only waits for people: waiting costs rows, not processes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from django.conf import settings

from jpweb.runtime.crossing import in_store
from jpweb.store import runs
from jpweb.store.outage import DATABASE_GONE

if TYPE_CHECKING:
    from jpweb.runtime.executing.active import Active


async def parked(active: Active) -> None:
    """Return once the run is put down: it rested for the hold, and nobody answered meanwhile.

    One whose files are locked for jpweb is kept in hand, as jp keeps its own (storage format,
    section 8): put down, ``jp`` could go on with its turn.
    """
    if active.attachment is not None:
        await asyncio.Event().wait()
    while True:
        await active.resting.wait()
        if await _rests_on(active) and await _put_down(active):
            return


async def _rests_on(active: Active) -> bool:
    """Tell whether the run rests for as long as it is held."""
    with suppress(TimeoutError):
        await asyncio.wait_for(active.resting.wait_working(), settings.HOLD)
    return active.resting.resting


async def _put_down(active: Active) -> bool:
    waits = active.waits
    try:
        return await in_store(
            runs.park, active.run, frozenset(waits.questions), frozenset(waits.decisions)
        )
    except DATABASE_GONE:
        return False  # the next hold looks again

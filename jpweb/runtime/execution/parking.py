"""Parks runs that only wait for people: a waiting run costs rows, not a process."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from django.conf import settings

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import runs
from jpweb.store.database.availability import DATABASE_UNAVAILABLE

if TYPE_CHECKING:
    from jpweb.runtime.execution.active_run import ActiveRun


async def wait_until_parked(active_run: ActiveRun) -> None:
    """Park the run once it was idle for ``PARK_AFTER_SECONDS``, and return.

    A run with locked files is never parked, because ``jp`` could then continue its turn
    (docs/jp-format.md, Locks).
    """
    if active_run.attachment is not None:
        await asyncio.Event().wait()
    while True:
        await active_run.idle_tracker.wait_idle()
        if await _is_idle_after_wait(active_run) and await _park_run(active_run):
            return


async def _is_idle_after_wait(active_run: ActiveRun) -> bool:
    """Return whether the run stays idle for ``PARK_AFTER_SECONDS``."""
    with suppress(TimeoutError):
        await asyncio.wait_for(active_run.idle_tracker.wait_busy(), settings.PARK_AFTER_SECONDS)
    return active_run.idle_tracker.is_idle


async def _park_run(active_run: ActiveRun) -> bool:
    awaited_rows = active_run.awaited_rows
    try:
        return await run_in_db_thread(
            runs.park_run,
            active_run.run,
            frozenset(awaited_rows.inquiry_keys),
            frozenset(awaited_rows.approval_keys),
        )
    except DATABASE_UNAVAILABLE:
        return False  # tried again after the same time

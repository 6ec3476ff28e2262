"""Requeues parked runs that wait for no inquiry and no approval."""

from __future__ import annotations

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_background_thread
from jpweb.store import runs


async def requeue_stranded_runs() -> int:
    """Requeue the parked runs that no signal would wake; return how many."""
    run_ids = await run_in_background_thread(runs.requeue_stranded)
    for run_id in run_ids:
        await publisher.publish_run_changed(run_id)
    return len(run_ids)

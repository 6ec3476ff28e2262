"""Jobs: notify workers at once of a queued run.

A job carries the key of the run and decides nothing: its worker tries to acquire the
run's lease. A job that comes late or twice finds no queued run; a job that was lost is
enqueued again from the run's row.
"""

from __future__ import annotations

from collections.abc import Collection

from django.conf import settings


def enqueue_job(run_id: int) -> None:
    """Enqueue a run's job in the present transaction; does nothing without workers."""
    if settings.RUN_MODE != "workers":
        return
    # Importing procrastinate takes a tenth of a second; only installations with workers need it.
    from jpweb.store.run_queue import job_engine  # noqa: PLC0415  lazy, as the comment above says

    job_engine.defer_job(run_id)


def find_waiting(run_ids: Collection[int]) -> set[int]:
    """Return the runs among these that have a job without a worker; they need no other job."""
    if settings.RUN_MODE != "workers":
        return set()
    from jpweb.store.run_queue import job_engine  # noqa: PLC0415  as above

    return job_engine.find_waiting(run_ids)

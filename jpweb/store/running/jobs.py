"""Jobs: how workers hear at once that a run is queued.

A job carries the key of the run and nothing else, and it decides nothing: whoever gets it tries to
take the run by its row. One that comes late or twice finds nothing to take; for one that was lost
the run's own row speaks.
"""

from __future__ import annotations

from collections.abc import Collection

from django.conf import settings


def enqueue(run_id: int) -> None:
    """Tell the workers of a run, with the transaction under way; nothing where there are none."""
    if settings.RUNS != "workers":
        return
    # Loaded where it is used: it takes a tenth of a second, and one machine alone needs none of it.
    from jpweb.store.running import engine  # noqa: PLC0415  as it says

    engine.defer(run_id)


def waiting(run_ids: Collection[int]) -> set[int]:
    """Return which of these runs have a job that no worker has taken; they need no other."""
    if settings.RUNS != "workers":
        return set()
    from jpweb.store.running import engine  # noqa: PLC0415  as above

    return engine.waiting(run_ids)

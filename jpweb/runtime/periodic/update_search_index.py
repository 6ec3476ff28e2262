"""Updates the search index with changed conversations."""

from __future__ import annotations

from jpweb.runtime.db_threads import run_in_background_thread
from jpweb.store.search import indexer


async def index_changed() -> int:
    """Index every changed conversation; return the number of steps.

    Each step indexes one conversation, the most recently changed first.
    """
    step_count = 0
    while await run_in_background_thread(indexer.index_next) is not None:
        step_count += 1
    return step_count

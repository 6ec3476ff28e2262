"""Updates the search index with changed conversations."""

from __future__ import annotations

from jpweb.runtime.db_threads import run_in_background_thread, thread_use
from jpweb.store.search import indexer


async def index_changed() -> int:
    """Index every changed conversation; return the number of steps.

    Each step indexes one conversation, the most recently changed first, in a pause of other work.
    """
    step_count = 0
    while True:
        await thread_use.wait_until_quiet()
        if await run_in_background_thread(indexer.index_next) is None:
            return step_count
        step_count += 1

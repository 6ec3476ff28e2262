"""Updates the search index with changed conversations."""

from __future__ import annotations

from time import monotonic

from jpweb.runtime.db_threads import run_in_background_thread, thread_use
from jpweb.store.search import dialects, indexer

#: Seconds until a conversation is indexed again while there is no pause of other work: a running
#: turn changes it several times a second, and a step takes 4 ms of processor time or more.
REINDEX_SECONDS = 5.0

#: When each conversation was indexed, for those of the last REINDEX_SECONDS, the latest last.
_indexed_at: dict[int, float] = {}


async def index_changed() -> int:
    """Index every changed conversation; return the number of steps.

    Each step indexes one conversation, the most recently changed first, in a pause of other work.
    Without a pause those that were indexed just now wait for a later call. What was indexed is
    merged in pauses alone.
    """
    step_count = 0
    while True:
        is_quiet = await thread_use.wait_until_quiet()
        recent_keys = _list_recent()
        postponed_keys = frozenset() if is_quiet else recent_keys
        step = await run_in_background_thread(indexer.index_next, postponed_keys)
        if step is None:
            if step_count:
                await _merge_in_pauses()
            return step_count
        if step.is_last:
            _indexed_at.pop(step.key, None)
            _indexed_at[step.key] = monotonic()
        step_count += 1


async def _merge_in_pauses() -> None:
    """Merge the segments of the index, until all are merged or there is no pause."""
    while await thread_use.wait_until_quiet():
        if not await run_in_background_thread(dialects.merge_segments):
            return


def _list_recent() -> frozenset[int]:
    """Return the conversations that were indexed just now, and forget the others."""
    earliest_time = monotonic() - REINDEX_SECONDS
    while _indexed_at and _indexed_at[key := next(iter(_indexed_at))] < earliest_time:
        del _indexed_at[key]
    return frozenset(_indexed_at)

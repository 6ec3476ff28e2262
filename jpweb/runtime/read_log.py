"""Gathers reads and searches, and writes them into the ledger once a second.

So a reader never waits for the ledger. What is not yet written is lost with the process; equal
reads of a second are one entry, with their number.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from typing import Any, NamedTuple

from jpweb.runtime.db_threads import run_in_background_thread, thread_use
from jpweb.store.choices import Act
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.ledger import entries
from jpweb.store.ledger.entries import Actor, Place
from jpweb.store.workspace_config import demo_membership

logger = logging.getLogger(__name__)

#: Seconds between two writes.
FLUSH_INTERVAL_SECONDS = 1.0
#: Different reads that are gathered; further ones are written by the next flush of their request.
MAX_GATHERED_READS = 10_000


class ReadRecord(NamedTuple):
    """A page that a person opened: ``view`` is the name of a route, ``query`` the text of a search.

    ``filters`` are the names and values of the filters that narrowed it. With ``omits_demo`` it is
    no entry of the demo, whose rows the list left out: finding the demo takes a query, for which no
    page waits.
    """

    act: Act
    actor: Actor
    place: Place
    view: str
    query: str = ""
    filters: tuple[tuple[str, str], ...] = ()
    omits_demo: bool = False


_gathered_reads: Counter[ReadRecord] = Counter()
#: Pages are rendered in threads, and the event loop flushes.
_lock = threading.Lock()


def note_read(read_record: ReadRecord) -> None:
    """Gather a read for the next flush."""
    with _lock:
        if read_record in _gathered_reads or len(_gathered_reads) < MAX_GATHERED_READS:
            _gathered_reads[read_record] += 1
            return
    logger.error("More than %d reads a second: one is not in the ledger.", MAX_GATHERED_READS)


async def flush_periodically() -> None:
    """Flush periodically, until cancelled."""
    while True:
        await asyncio.sleep(FLUSH_INTERVAL_SECONDS)
        await thread_use.wait_until_quiet()
        await flush_reads()


async def flush_reads() -> None:
    """Write the gathered reads; in a database outage they stay gathered."""
    with _lock:
        batch = Counter(_gathered_reads)
        _gathered_reads.clear()
    if not batch:
        return
    try:
        await run_in_background_thread(write_reads, batch)
    except DATABASE_UNAVAILABLE as error:
        logger.warning("Could not write %d reads into the ledger yet: %s", len(batch), error)
        with _lock:
            _gathered_reads.update(batch)


def write_reads(batch: Counter[ReadRecord]) -> None:
    """Insert an entry for each read, in one transaction."""
    demo_id = (
        demo_membership.find_demo_id()
        if any(read_record.omits_demo for read_record in batch)
        else None
    )
    entries.record_acts(
        entries.NewAct(
            read_record.act, read_record.actor, read_record.place, _make_details(read_record, count)
        )
        for read_record, count in batch.items()
        if not (read_record.omits_demo and read_record.place.workspace_id == demo_id)
    )


def _make_details(read_record: ReadRecord, count: int) -> dict[str, Any]:
    criteria = {"query": read_record.query, "filters": dict(read_record.filters)}
    criteria = {name: value for name, value in criteria.items() if value}
    return {"view": read_record.view, "count": count} | criteria

"""Buffers read receipts of questions and writes them in batches.

Receipts that are not yet written are lost with the process, and those beyond the limits are
dropped: that costs a line of the record, never an answer.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime

from jpweb.runtime.db_threads import run_in_db_thread, thread_use
from jpweb.store.database import clock
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.inbox import receipt_log
from jpweb.store.inbox.receipt_log import ReceiptKey, ReceiptTimes

logger = logging.getLogger(__name__)

#: Kinds of receipt that a page may report of a card.
RECEIPT_KINDS = frozenset({"visible", "focused", "draft"})
#: Seconds between two writes of the buffer.
FLUSH_INTERVAL_SECONDS = 1.0
#: Pairs of question and person in the buffer; further receipts are dropped.
MAX_PENDING_RECEIPTS = 10_000

#: Pairs of one person in the buffer, so that one person's pages cannot fill it.
MAX_PENDING_PER_PERSON = 1_000

_pending_receipts: dict[ReceiptKey, ReceiptTimes] = {}
_pending_counts: Counter[int] = Counter()
#: Receipts that are already written; cleared above MAX_PENDING_RECEIPTS.
_written_receipts: set[tuple[ReceiptKey, str]] = set()
#: Pages are rendered in threads, and sockets report in the event loop.
_lock = threading.Lock()


def note_delivered(person_id: int, keys: Iterable[int]) -> None:
    """Record that cards of these questions were sent to a page of a person."""
    _add_receipts(person_id, [(key, "delivered") for key in keys])


def note_reports(person_id: int, reports: Iterable[tuple[int, str]]) -> None:
    """Record the receipts that a page reports; unknown kinds are ignored."""
    _add_receipts(person_id, [(key, kind) for key, kind in reports if kind in RECEIPT_KINDS])


async def flush_periodically() -> None:
    """Flush the buffer periodically, until cancelled."""
    while True:
        await asyncio.sleep(FLUSH_INTERVAL_SECONDS)
        await thread_use.wait_until_quiet()
        await flush_receipts()


async def flush_receipts() -> None:
    """Write the buffered receipts; in a database outage they stay buffered."""
    with _lock:
        batch = dict(_pending_receipts)
        _pending_receipts.clear()
        _pending_counts.clear()
    if not batch:
        return
    try:
        saved_pairs = await run_in_db_thread(receipt_log.save_receipts, batch)
    except DATABASE_UNAVAILABLE as error:
        _restore_batch(batch, error)
    else:
        _note_written(batch, saved_pairs)


def flush_question(inquiry_id: int) -> None:
    """Write the buffered receipts of one question, as ``flush_receipts`` but in this thread."""
    with _lock:
        pairs = [pair for pair in _pending_receipts if pair[0] == inquiry_id]
        batch = {pair: _pending_receipts.pop(pair) for pair in pairs}
        _pending_counts.subtract(person_id for _, person_id in pairs)
    if not batch:
        return
    try:
        saved_pairs = receipt_log.save_receipts(batch)
    except DATABASE_UNAVAILABLE as error:
        _restore_batch(batch, error)
    else:
        _note_written(batch, saved_pairs)


def _restore_batch(batch: Mapping[ReceiptKey, ReceiptTimes], error: Exception) -> None:
    """Buffer receipts again that could not be written."""
    logger.warning("Read receipts could not be saved: %s", error)
    with _lock:
        for pair, receipt in batch.items():
            for kind, seen_at in receipt.list_times():
                _merge_receipt(pair, kind, seen_at)


def _note_written(
    batch: Mapping[ReceiptKey, ReceiptTimes], saved_pairs: Iterable[ReceiptKey]
) -> None:
    with _lock:
        if len(_written_receipts) > MAX_PENDING_RECEIPTS:
            _written_receipts.clear()
        _written_receipts.update(
            (pair, kind) for pair in saved_pairs for kind, _ in batch[pair].list_times()
        )


def _add_receipts(person_id: int, reports: Iterable[tuple[int, str]]) -> None:
    noted_at = clock.now()
    with _lock:
        for key, kind in reports:
            if ((key, person_id), kind) not in _written_receipts:
                _merge_receipt((key, person_id), kind, noted_at)


def _merge_receipt(pair: ReceiptKey, kind: str, seen_at: datetime) -> None:
    """Add a receipt to the buffer; the earlier of two times wins."""
    receipt = _pending_receipts.get(pair)
    if receipt is None:
        if (
            len(_pending_receipts) >= MAX_PENDING_RECEIPTS
            or _pending_counts[pair[1]] >= MAX_PENDING_PER_PERSON
        ):
            return
        receipt = _pending_receipts[pair] = ReceiptTimes()
        _pending_counts[pair[1]] += 1
    existing_time = getattr(receipt, kind)
    setattr(receipt, kind, seen_at if existing_time is None else min(existing_time, seen_at))

"""Ends the questions that nobody settled in time. That is never an answer, and never consent."""

from __future__ import annotations

import logging

from jpweb.runtime import desk
from jpweb.runtime.crossing import in_background, in_store
from jpweb.store import inquiries
from jpweb.store.errors import AlreadySettled, StoreError
from jpweb.store.inquiries import Decider
from jpweb.store.outage import BROKEN_ROWS
from jpweb.store.running import expiring
from jpweb.stream.inquiry import CancellationReason, Cancelled

logger = logging.getLogger(__name__)

#: Questions that one look at the database brings.
BATCH = 200
#: Questions that cannot expire, each of which is logged once.
_told: set[int] = set()


async def expire_due() -> int:
    """End the questions whose time is over; returns how many were ended.

    Whoever settles one at that moment may be first, and that stands.
    """
    ended = last = 0
    while keys := await in_background(expiring.due, last, BATCH):
        for last in keys:
            ended += await _expire(last)
    return ended


async def _expire(key: int) -> bool:
    try:
        row = await in_store(inquiries.get, key)
        if row.state != inquiries.OPEN:
            return False
        await desk.settle(row, Cancelled(CancellationReason.EXPIRED), Decider("system"))
    except AlreadySettled:
        return False
    except (StoreError, *BROKEN_ROWS) as problem:
        if key not in _told:
            logger.warning("question %s cannot expire: %r", key, problem)
        _told.add(key)
        return False
    return True

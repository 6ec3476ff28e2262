"""Expires overdue inquiries. An expiry is never an answer and never consent."""

from __future__ import annotations

import logging

from jpweb.runtime.db_threads import run_in_background_thread, run_in_db_thread
from jpweb.runtime.inquiries import resolution
from jpweb.store import inquiries
from jpweb.store.database.availability import INCONSISTENT_ROWS
from jpweb.store.errors import AlreadySettled, StoreError
from jpweb.store.inquiries import Decider
from jpweb.store.maintenance import inquiry_expiry
from jpweb.stream.inquiry import CancellationReason, Cancelled

logger = logging.getLogger(__name__)

#: Inquiries per query.
BATCH_SIZE = 200
#: Keys of inquiries whose expiry failed; each is logged once.
_logged_keys: set[int] = set()


async def expire_due_inquiries() -> int:
    """Expire the overdue inquiries; return how many.

    A settlement by a person at the same moment may be first, and wins.
    """
    expired_count = last_key = 0
    while keys := await run_in_background_thread(inquiry_expiry.find_expired, last_key, BATCH_SIZE):
        for last_key in keys:
            expired_count += await _expire_inquiry(last_key)
    return expired_count


async def _expire_inquiry(key: int) -> bool:
    try:
        row = await run_in_db_thread(inquiries.get_inquiry, key)
        if row.state != inquiries.OPEN_STATE:
            return False
        await resolution.settle_inquiry(
            row, Cancelled(CancellationReason.EXPIRED), Decider("system")
        )
    except AlreadySettled:
        return False
    except (StoreError, *INCONSISTENT_ROWS) as error:
        if key not in _logged_keys:
            logger.warning("Question %s could not be expired: %r", key, error)
        _logged_keys.add(key)
        return False
    return True

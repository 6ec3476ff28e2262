"""Keeps signed heads of the ledger outside its database, so that cutting off its tail shows."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from typing import Any

from django.conf import settings

from jpweb.runtime.db_threads import run_in_background_thread
from jpweb.runtime.notifications import apprise_sender
from jpweb.store.errors import StoreError
from jpweb.store.ledger import kept_heads

logger = logging.getLogger(__name__)

#: Key of the message in ``apprise_sender``; those of notification destinations are positive.
_SENDER_KEY = -1
#: The newest kept head, until it is sent.
_unsent_heads: deque[dict[str, Any]] = deque(maxlen=1)


async def publish_head() -> None:
    """Append the head to the file of kept heads, unless it is the last one there, and send it.

    A head whose sending failed is sent in the next round, or the newer one that is kept by then.
    """
    try:
        statement = await run_in_background_thread(kept_heads.append_head, settings.LEDGER_HEADS)
    except StoreError as error:
        logger.warning(
            "No head of the ledger was kept: %s Set JPWEB_LEDGER_HEADS to a file that jpweb may"
            " write, or nobody can see later that the ledger's end was cut off.",
            error,
        )
        return
    if statement is not None:
        _unsent_heads.append(statement)
    if _unsent_heads and settings.LEDGER_HEAD_URL:
        await _send_head(_unsent_heads[-1])


async def _send_head(statement: dict[str, Any]) -> None:
    sequence = statement["head"]["sequence"]
    problem = await apprise_sender.send_message(
        _SENDER_KEY,
        settings.LEDGER_HEAD_URL,
        f"jpweb: ledger head {sequence}",
        json.dumps(statement, indent=2),
    )
    if problem:
        # The sender's text about an invalid address is for people who have a page to mend it.
        problem = await asyncio.to_thread(_describe_setting) or problem
        logger.warning("Could not send the ledger head %d: %s", sequence, problem)
    else:
        _unsent_heads.clear()


def _describe_setting() -> str:
    fault = apprise_sender.describe_fault(settings.LEDGER_HEAD_URL)
    return f"JPWEB_LEDGER_HEAD_URL is not a notification address: {fault}" if fault else ""

"""Keeps signed heads of the ledger outside its database, so that cutting off its tail shows."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Any

from django.conf import settings

from jpweb.evidence import ledger_verifier
from jpweb.runtime.db_threads import run_in_background_thread
from jpweb.runtime.notifications import apprise_sender
from jpweb.store.errors import StoreError
from jpweb.store.ledger import kept_heads

logger = logging.getLogger(__name__)

#: Key of the message in ``apprise_sender``; those of notification destinations are positive.
_SENDER_KEY = -1
#: The last head that this process sent.
_sent_heads: deque[dict[str, Any]] = deque(maxlen=1)


async def publish_head() -> None:
    """Append the head to the file of kept heads, and send it, each unless that was done before.

    Neither depends on the other: whoever can write to the file cannot keep a head from being sent.
    A head whose sending failed is sent in the next round, or the newer one that is there by then.
    What was sent is not on record, so the first round of a process sends the head again.
    """
    statement = await run_in_background_thread(kept_heads.make_statement)
    if statement is None:
        return
    try:
        await run_in_background_thread(kept_heads.append_head, settings.LEDGER_HEADS, statement)
    except StoreError as error:
        logger.warning(
            "No head of the ledger was kept: %s Set JPWEB_LEDGER_HEADS to a file that jpweb may"
            " write, or nobody can see later that the ledger's end was cut off.",
            error,
        )
    if settings.LEDGER_HEAD_URL and statement not in _sent_heads:
        await _send_head(statement)


async def _send_head(statement: dict[str, Any]) -> None:
    sequence = statement["head"]["sequence"]
    problem = await apprise_sender.send_message(
        _SENDER_KEY,
        settings.LEDGER_HEAD_URL,
        f"jpweb: ledger head {sequence}",
        ledger_verifier.encode_canonical(statement),  # one line, as in a file of heads
    )
    if problem:
        # The sender's text about an invalid address is for people who have a page to mend it.
        problem = await asyncio.to_thread(_describe_setting) or problem
        logger.warning("Could not send the ledger head %d: %s", sequence, problem)
    else:
        _sent_heads.append(statement)


def _describe_setting() -> str:
    fault = apprise_sender.describe_fault(settings.LEDGER_HEAD_URL)
    return f"JPWEB_LEDGER_HEAD_URL is not a notification address: {fault}" if fault else ""

"""Keeps signed heads of the ledger outside its database, so that cutting off its tail shows."""

from __future__ import annotations

import json
import logging
from typing import Any

from django.conf import settings

from jpweb.runtime.db_threads import run_in_background_thread
from jpweb.runtime.periodic import apprise_sender
from jpweb.store.errors import StoreError
from jpweb.store.ledger import kept_heads

logger = logging.getLogger(__name__)

#: Key of the message in ``apprise_sender``; those of notification destinations are positive.
_SENDER_KEY = -1


async def publish_head() -> None:
    """Append the head to the file of kept heads and send it, unless it is the last one there."""
    try:
        statement = await run_in_background_thread(kept_heads.append_head, settings.LEDGER_HEADS)
    except StoreError as error:
        logger.warning(
            "No head of the ledger was kept: %s Set JPWEB_LEDGER_HEADS to a file that jpweb may"
            " write, or nobody can see later that the ledger's end was cut off.",
            error,
        )
        return
    if statement is not None and settings.LEDGER_HEAD_URL:
        await _send_head(statement)


async def _send_head(statement: dict[str, Any]) -> None:
    sequence = statement["head"]["sequence"]
    problem = await apprise_sender.send_message(
        _SENDER_KEY,
        settings.LEDGER_HEAD_URL,
        f"jpweb: ledger head {sequence}",
        json.dumps(statement, indent=2),
    )
    if problem:
        logger.warning("Could not send the ledger head %d: %s", sequence, problem)

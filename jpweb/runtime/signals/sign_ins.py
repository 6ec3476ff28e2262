"""Keeps sign-ins true for open pages: writes that they are used, ends what is over.

It asks the database every ROUND_SECONDS, so a sign-in that ended or a role that changed reaches a
page also where the one signal is lost.
"""

from __future__ import annotations

import asyncio
import logging

from jpweb.runtime.crossing import in_store
from jpweb.runtime.signals import announce, fanout
from jpweb.store.outage import DATABASE_GONE
from jpweb.store.people import sessions
from jpweb.store.telling import standing

logger = logging.getLogger(__name__)

#: A page whose sign-in has ended is closed within this time.
ROUND_SECONDS = 10.0

#: The hashes of the sign-ins that were used and of which that is not written yet.
used: set[str] = set()


async def keep() -> None:
    """Look every ROUND_SECONDS, until cancelled."""
    while True:
        await asyncio.sleep(ROUND_SECONDS)
        try:
            await write_used()
            await check_pages()
        except DATABASE_GONE as problem:
            logger.warning("Sign-ins were not looked at: %s", problem)


async def write_used() -> None:
    """Write which sign-ins were used; what cannot be written is kept for the next time."""
    due = set(used)
    if due:
        await in_store(sessions.record_requests, due)
        used.difference_update(due)


async def check_pages() -> None:
    """Close the pages whose sign-in is over; tell the others which roles their person has."""
    keys = fanout.list_keys("session")
    if not keys:
        return
    people = await in_store(sessions.list_live, keys)
    for key in keys - people.keys():
        fanout.take({"kind": "session", "to": announce.session_group(key)})
    roles = await in_store(standing.roles, set(people.values()))
    for key, person_id in people.items():
        fanout.take({"kind": "roles", "to": announce.session_group(key), "roles": roles[person_id]})

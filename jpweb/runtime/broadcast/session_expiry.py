"""Validates sign-ins of open pages: records their use, closes pages whose sign-in has ended.

It queries the database every CHECK_INTERVAL_SECONDS, so the end of a sign-in or a changed role
reaches a page also where the one signal is lost.
"""

from __future__ import annotations

import asyncio
import logging

from jpweb.runtime.broadcast import local_bus, publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.inbox import queue
from jpweb.store.people import sessions

logger = logging.getLogger(__name__)

#: Seconds within which a page whose sign-in has ended is closed.
CHECK_INTERVAL_SECONDS = 10.0

#: Key hashes of sign-ins whose use is not yet written to the database.
used_key_hashes: set[str] = set()


async def run_checks() -> None:
    """Check every CHECK_INTERVAL_SECONDS, until cancelled."""
    while True:
        await asyncio.sleep(CHECK_INTERVAL_SECONDS)
        try:
            await write_used_sign_ins()
            await check_pages()
        except DATABASE_UNAVAILABLE as error:
            logger.warning("Sessions could not be checked: %s", error)


async def write_used_sign_ins() -> None:
    """Write which sign-ins were used. Raises the database's error in an outage; none is lost."""
    due_hashes = set(used_key_hashes)
    if due_hashes:
        await run_in_db_thread(sessions.record_requests, due_hashes)
        used_key_hashes.difference_update(due_hashes)


async def check_pages() -> None:
    """Close the pages whose sign-in has ended; send the others the roles of their person."""
    keys = local_bus.list_topic_keys("session")
    if not keys:
        return
    person_ids_by_key = await run_in_db_thread(sessions.list_live, keys)
    for key in keys - person_ids_by_key.keys():
        local_bus.dispatch_signal({"kind": "session", "to": publisher.make_session_topic(key)})
    roles = await run_in_db_thread(queue.get_roles, set(person_ids_by_key.values()))
    for key, person_id in person_ids_by_key.items():
        local_bus.dispatch_signal(
            {"kind": "roles", "to": publisher.make_session_topic(key), "roles": roles[person_id]}
        )

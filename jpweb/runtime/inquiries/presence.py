"""Presence: which people have a page open, in this process or another.

The registry in memory maps the pages of this process to (person, workspace) pairs. The rows in
the database share them with other processes and expire unless they are refreshed.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Hashable, Iterable

from jpweb.runtime import process_identity
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.tasks import create_detached_task
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.inbox import presence as presence_rows
from jpweb.store.inbox.presence import PresenceKey

logger = logging.getLogger(__name__)

#: Seconds between two refreshes of the presence rows.
HEARTBEAT_SECONDS = 15.0


class _PresenceRegistry:
    """Pages of this process, the number of pages of each pair, and the pairs to be written."""

    def __init__(self) -> None:
        self.pairs_by_page: dict[Hashable, frozenset[PresenceKey]] = {}
        self.page_counts: Counter[PresenceKey] = Counter()
        self.due_pairs: set[PresenceKey] = set()
        self.write_task: asyncio.Task[None] | None = None

    def set_pairs(self, page: Hashable, pairs: frozenset[PresenceKey]) -> None:
        """Replace the pairs of a page."""
        previous_pairs = self.pairs_by_page.pop(page, frozenset())
        if pairs:
            self.pairs_by_page[page] = pairs
        for pair in pairs - previous_pairs:
            self.page_counts[pair] += 1
            if self.page_counts[pair] == 1:
                self.due_pairs.add(pair)
        for pair in previous_pairs - pairs:
            self.page_counts[pair] -= 1
            if not self.page_counts[pair]:
                del self.page_counts[pair]
                self.due_pairs.add(pair)

    async def wait_until_written(self) -> None:
        """Wait until the rows match the pages. Concurrent callers share one write."""
        while self.due_pairs:
            if self.write_task is None or self.write_task.done():
                self.write_task = create_detached_task(self._write_due())
            await asyncio.shield(self.write_task)

    async def _write_due(self) -> None:
        due_pairs, self.due_pairs = self.due_pairs, set()
        present_pairs = {pair for pair in due_pairs if pair in self.page_counts}
        try:
            if present_pairs:
                await run_in_db_thread(
                    presence_rows.record_presence,
                    process_identity.get_process_name(),
                    present_pairs,
                )
            if due_pairs - present_pairs:
                await run_in_db_thread(
                    presence_rows.clear_presence,
                    process_identity.get_process_name(),
                    due_pairs - present_pairs,
                )
        except DATABASE_UNAVAILABLE as error:
            logger.warning("Presence could not be saved: %s", error)


_registry = _PresenceRegistry()


async def register_pages(pages: Iterable[tuple[Hashable, int, Iterable[int]]]) -> None:
    """Register open pages: page, person and the workspaces in which the person may answer."""
    for page, person_id, workspace_ids in pages:
        _registry.set_pairs(
            page, frozenset((person_id, workspace_id) for workspace_id in workspace_ids)
        )
    await _registry.wait_until_written()


async def unregister_page(page: Hashable) -> None:
    """Unregister a page; does nothing for an unknown one."""
    _registry.set_pairs(page, frozenset())
    await _registry.wait_until_written()


async def unregister_all() -> None:
    """Unregister all pages of this process."""
    _registry.pairs_by_page.clear()
    _registry.page_counts.clear()
    _registry.due_pairs.clear()
    await run_in_db_thread(presence_rows.clear_presence, process_identity.get_process_name())


async def is_reachable(workspace_id: int) -> bool:
    """Return whether a member who may answer has a page open, in any process."""
    return await run_in_db_thread(presence_rows.is_anyone_present, workspace_id)


async def refresh_presence() -> None:
    """Refresh the presence rows of this process periodically, until cancelled."""
    while True:
        try:
            await run_in_db_thread(
                presence_rows.record_presence,
                process_identity.get_process_name(),
                set(_registry.page_counts),
            )
        except DATABASE_UNAVAILABLE as error:
            logger.warning("Presence could not be refreshed: %s", error)
        await asyncio.sleep(HEARTBEAT_SECONDS)

"""Who can answer right now: people who have a page open, in this process or in another.

What is in memory here says which pages of this process stand for whom; the rows in the database
say it to every process, and count only while they are refreshed.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import Counter
from collections.abc import Hashable, Iterable

from jpweb.runtime import process
from jpweb.runtime.crossing import in_store
from jpweb.store.outage import DATABASE_GONE
from jpweb.store.telling import presence as rows
from jpweb.store.telling.presence import Pair

logger = logging.getLogger(__name__)

#: Seconds between two refreshments of the rows.
BEAT = 15.0


class _Book:
    """The pages of this process, how many stand for each pair, and what is to be written."""

    def __init__(self) -> None:
        self.pages: dict[Hashable, frozenset[Pair]] = {}
        self.pairs: Counter[Pair] = Counter()
        self.due: set[Pair] = set()
        self.writing: asyncio.Task[None] | None = None

    def put(self, page: Hashable, pairs: frozenset[Pair]) -> None:
        """Let a page stand for these pairs, and for those alone."""
        before = self.pages.pop(page, frozenset())
        if pairs:
            self.pages[page] = pairs
        for pair in pairs - before:
            self.pairs[pair] += 1
            if self.pairs[pair] == 1:
                self.due.add(pair)
        for pair in before - pairs:
            self.pairs[pair] -= 1
            if not self.pairs[pair]:
                del self.pairs[pair]
                self.due.add(pair)

    async def written(self) -> None:
        """Return once the rows are as the pages are. Many callers share one write."""
        while self.due:
            if self.writing is None or self.writing.done():
                self.writing = asyncio.create_task(self._write(), context=contextvars.Context())
            await asyncio.shield(self.writing)

    async def _write(self) -> None:
        due, self.due = self.due, set()
        came = {pair for pair in due if pair in self.pairs}
        try:
            if came:
                await in_store(rows.arrive, process.name(), came)
            if due - came:
                await in_store(rows.leave, process.name(), due - came)
        except DATABASE_GONE as problem:
            logger.warning("Who is there was not written: %s", problem)


_book = _Book()


async def arrive(pages: Iterable[tuple[Hashable, int, Iterable[int]]]) -> None:
    """Note of open pages whose they are, and in which workspaces that person may answer."""
    for page, person_id, workspace_ids in pages:
        _book.put(page, frozenset((person_id, key) for key in workspace_ids))
    await _book.written()


async def leave(page: Hashable) -> None:
    """Note that a page is gone; does nothing for one that is not known."""
    _book.put(page, frozenset())
    await _book.written()


async def leave_all() -> None:
    """Note that this process has no page any more."""
    _book.pages.clear()
    _book.pairs.clear()
    _book.due.clear()
    await in_store(rows.leave, process.name())


async def reachable(workspace_id: int) -> bool:
    """Tell whether somebody who may answer in the workspace has a page open, in any process."""
    return await in_store(rows.reachable, workspace_id)


async def beat() -> None:
    """Keep the rows of this process fresh, until cancelled."""
    while True:
        try:
            await in_store(rows.arrive, process.name(), set(_book.pairs))
        except DATABASE_GONE as problem:
            logger.warning("Who is there was not refreshed: %s", problem)
        await asyncio.sleep(BEAT)

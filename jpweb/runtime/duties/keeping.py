"""What one process at a time does for all that share the database, and who it is that does it.

Every process tries to hold each duty. Whoever holds one does its work until it leaves or dies, or
until it could not tell the database in time that it lives: then another may have begun.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from django.conf import settings

from jpweb.runtime import process
from jpweb.runtime.crossing import in_background
from jpweb.runtime.duties import expiry, indexing, notify, recall, watching
from jpweb.runtime.executing.tasks import cancel_and_wait
from jpweb.store.disk import mirror
from jpweb.store.outage import DATABASE_GONE
from jpweb.store.running import duties, tidying

logger = logging.getLogger(__name__)

#: Seconds that a duty is held for; after so many another takes over from a process that died.
LEASE = 15.0
#: Seconds between two looks at the list of workspaces.
LOOK = 10.0
#: Seconds in which duties that are to be held gather for one trip to the database.
GATHER_SECONDS = 0.05
Work: TypeAlias = Callable[[], Coroutine[Any, Any, object]]


@dataclass(frozen=True, slots=True)
class Duty:
    """Work for one process. ``every`` so many seconds after it ended it begins again."""

    name: str
    work: Work
    every: float


async def follow_all() -> None:
    """Follow the files of every mirrored workspace, also of those that are added later."""
    following: dict[Path, asyncio.Task[None]] = {}
    try:
        while True:
            roots = await in_background(mirror.roots)
            for gone in following.keys() - set(roots):
                await cancel_and_wait(following.pop(gone))
            for root in roots:
                if root not in following or following[root].done():
                    work = _contained(f"following {root}", partial(watching.follow, root))
                    following[root] = asyncio.create_task(work)
            await asyncio.sleep(LOOK)
    finally:
        await cancel_and_wait(*following.values())


DUTIES = (
    Duty("expiry", expiry.expire_due, every=2),
    Duty("notify", notify.tell_due, every=5),
    Duty("follow", follow_all, every=LOOK),
    Duty("recall", recall.recall_stranded, every=60),
    Duty("index", indexing.index_due, every=1),
    Duty("tidy", partial(in_background, tidying.tidy), every=3600),
)


class Keeper:
    """A process that is ready to do these duties."""

    def __init__(self, name: str, tasks: Sequence[Duty], lease: float = LEASE) -> None:
        self._name = name
        self._duties = tasks
        self._lease = lease
        self._beat = lease / 4
        self._keeping: list[asyncio.Task[None]] = []
        self._gathering: set[str] = set()
        self._trip: asyncio.Task[set[str]] | None = None
        self._trips: set[asyncio.Task[set[str]]] = set()
        self._gone = False

    async def keep(self) -> None:
        """Do what falls to this process, until ``leave`` or a cancellation."""
        self._keeping = [asyncio.create_task(self._keep(duty)) for duty in self._duties]
        try:
            await asyncio.wait(self._keeping)
        finally:
            await cancel_and_wait(*self._keeping, *self._trips)

    async def leave(self) -> None:
        """End the work, and let others have it at once where the database can be told."""
        await cancel_and_wait(*self._keeping, *self._trips)
        with suppress(*DATABASE_GONE):
            await in_background(duties.leave, self._name)

    async def _keep(self, duty: Duty) -> None:
        while True:
            await _contained(f"keeping {duty.name}", partial(self._serve, duty))
            await asyncio.sleep(self._beat)

    async def _serve(self, duty: Duty) -> None:
        """Do the work for as long as the duty is held, at the latest until its lease is over."""
        clock = asyncio.get_running_loop().time
        asked = clock()
        if not await self._hold(duty):
            return
        work = asyncio.create_task(_again_and_again(duty))
        try:
            async with asyncio.timeout_at(asked + self._lease) as lease:
                while True:
                    await asyncio.sleep(self._beat)
                    asked = clock()
                    held = await self._hold(duty)
                    if held:
                        lease.reschedule(asked + self._lease)
                    elif held is not None:
                        return
        except TimeoutError:
            logger.warning("%s lets go of %s: its lease is over", self._name, duty.name)
        finally:
            await cancel_and_wait(work)

    async def _hold(self, duty: Duty) -> bool | None:
        """Tell whether the duty is held from now on; None where the database is gone."""
        try:
            held = duty.name in await asyncio.shield(self._join_trip(duty.name))
        except DATABASE_GONE as problem:
            if not self._gone:
                logger.warning("the database is gone, for now: %s", problem)
            self._gone = True
            return None
        self._gone = False
        return held

    def _join_trip(self, name: str) -> asyncio.Task[set[str]]:
        """Return the trip to the database that tells whether a duty is held.

        Six duties that each made their own cost an idle server twice the processor time.
        """
        self._gathering.add(name)
        if self._trip is None:
            self._trip = asyncio.create_task(self._hold_gathered())
            self._trips.add(self._trip)
            self._trip.add_done_callback(self._trips.discard)
        return self._trip

    async def _hold_gathered(self) -> set[str]:
        await asyncio.sleep(GATHER_SECONDS)
        names, self._gathering, self._trip = self._gathering, set(), None
        return await in_background(duties.hold_all, names, self._name, self._lease)


_keeper = Keeper(process.name(), DUTIES)


async def keep() -> None:
    """Do the duties that fall to this process; returns only by cancellation, also after it left."""
    if settings.RUNS == "embedded":
        # The data folder is locked: no process of this installation lives but this one. Where that
        # cannot be said now, the leases of those that died end by themselves.
        with suppress(*DATABASE_GONE):
            await in_background(duties.abandon, process.installation())
    await _keeper.keep()
    # Left: whoever keeps this going would begin the duties again while the process ends.
    await asyncio.Event().wait()


async def leave() -> None:
    """Let go of the duties of this process; their work has ended then."""
    await _keeper.leave()


async def _again_and_again(duty: Duty) -> None:
    while True:
        await _contained(duty.name, duty.work)
        await asyncio.sleep(duty.every)


async def _contained(name: str, work: Work) -> None:
    """Let work run to its end, whatever that is: what it raises is a line in the log."""
    task = asyncio.create_task(work())
    try:
        await asyncio.wait([task])
    finally:
        await cancel_and_wait(task)
    error = None if task.cancelled() else task.exception()
    if isinstance(error, DATABASE_GONE):
        logger.info("%s ended, the database is gone: %s", name, error)
    elif error is not None:
        logger.error("%s failed", name, exc_info=error)

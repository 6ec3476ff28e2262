"""Takes runs, keeps them while it executes them, and lets go of them."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Collection, Coroutine, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from django.conf import settings

from jpweb.runtime import process
from jpweb.runtime.crossing import in_background, in_store
from jpweb.runtime.executing import parking, turns
from jpweb.runtime.executing.active import Active
from jpweb.runtime.executing.pace import Pace
from jpweb.runtime.executing.renewing import Renewal
from jpweb.runtime.signals import announce, fanout
from jpweb.store import runs
from jpweb.store.disk import attached
from jpweb.store.errors import StoreError
from jpweb.store.outage import DATABASE_GONE
from jpweb.store.running import heartbeats, leases
from jpweb.store.terms import RunState
from jpweb.stream.inquiry import CancellationReason

if TYPE_CHECKING:
    from jpweb.store.disk.attached import Attachment
    from jpweb.store.models import Run

logger = logging.getLogger(__name__)

#: Runs that a server without workers takes up at once; what people begin, begins.
AT_ONCE = 50
#: Seconds between two looks while the database is away.
AWAY_PAUSE_SECONDS = 1.0

_active: dict[int, Active] = {}
pace = Pace()
#: Runs on their way into this process's hands; the loop itself holds no task.
_coming: set[asyncio.Task[None]] = set()


async def see_through(run_id: int) -> None:
    """Take a run and execute it until it ends, is put down, or is another process's.

    Returns at once where there is nothing to take. Cancelled, it lets go of the run, which is
    queued for others then.
    """
    active = await _take(run_id)
    if active is None:
        return
    task = enter(active)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if not task.cancelled() or not active.gone:
            raise


async def take(run_id: int, attachment: Attachment | None) -> Active | None:
    """Take a queued run whose files are attached already; None where somebody else has."""
    run = await in_store(leases.take, run_id, process.name(), settings.LEASE)
    return None if run is None else Active(run, run.conversation, attachment)


def enter(active: Active) -> asyncio.Task[None]:
    """Let this process execute a run that it has taken."""
    _active[active.run.pk] = active
    pace.wake()
    # A context of its own: what belongs to a request ends with the request.
    task = asyncio.get_running_loop().create_task(_execute(active), context=contextvars.Context())
    active.task = task
    return task


async def tend() -> None:
    """Keep what this process holds and look for what nobody does, as long as it lives."""
    renewal = Renewal(lambda: list(_active), _renewed, give_up_all)
    renewal.start()
    works = (pace.measure(lambda: not _active), _look_again_and_again(), renewal.watch())
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.gather(*tasks)  # the first that fails ends all: they are begun again
    finally:
        await _ended(_cancel(tasks))
        await renewal.stop()


async def _look_again_and_again() -> None:
    # Where the data folder is locked no process of this installation lives but this one.
    alone, is_told = settings.RUNS == "embedded", False
    while True:
        try:
            if alone:
                await in_store(leases.abandon, process.installation(), process.name())
            alone = False
            if is_told:
                # Others that are back as well renew their leases before anybody looks at them.
                await remind(0)
                is_told = False
            else:
                await look()
        except DATABASE_GONE as problem:
            if not is_told:
                logger.warning("the database cannot be reached: %s", problem)
            is_told = True
        await asyncio.sleep(AWAY_PAUSE_SECONDS if is_told else settings.LEASE / 3)


async def look() -> None:
    """Hear what was said, and bring forth what nobody executes."""
    mine = list(_active.values())  # what is taken meanwhile is not missed
    keys = [active.run.pk for active in mine]
    held = await in_store(leases.held, keys, process.name())
    _renewed(keys, held)
    await turns.hear(*(active for active in mine if active.run.pk in held))
    for changed in await in_store(runs.recover, settings.LEASE, list(_active)):
        await announce.conversation(changed.conversation_id)
        await announce.questions(changed.conversation.workspace_id)
    await remind(settings.LEASE)


async def remind(queued_seconds: float) -> None:
    """Take runs up, or tell workers of those that have been queued for so long."""
    if settings.RUNS == "embedded":
        for key in (await in_store(leases.untaken))[: _room()]:
            _begin(key)
    else:
        await in_store(leases.remind, await in_store(leases.untaken, queued_seconds))


async def wait_for_room() -> None:
    """Return once this process keeps up with what it executes, or executes nothing."""
    await pace.admit(lambda: not _working())


def _renewed(keys: Iterable[int], held: Collection[int]) -> None:
    """Give up the runs among these that this process does not hold any more."""
    for key in keys:
        active = _active.get(key)
        if active is not None and key not in held and not active.over:
            active.give_up()


async def let_go() -> None:
    """Leave every run of this process to others; returns once nothing of them runs here.

    Their tools and servers are ended with them, since nobody would end them later.
    """
    for task in [*_coming]:
        task.cancel()
    await _ended(_coming)
    await _ended(_cancelled(_active.values()))


def give_up_all() -> None:
    """Stop executing anything: what this process holds is taken for dead by now."""
    for active in [*_active.values()]:
        active.give_up()


def _cancel(tasks: Sequence[asyncio.Task[Any]]) -> Sequence[asyncio.Task[Any]]:
    for task in tasks:
        task.cancel()
    return tasks


def _cancelled(actives: Iterable[Active]) -> list[asyncio.Task[None]]:
    tasks = [active.task for active in actives if active.task is not None]
    for task in tasks:
        task.cancel()
    return tasks


async def _ended(tasks: Iterable[asyncio.Task[None]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


def _working() -> int:
    return sum(not active.resting.resting for active in _active.values())


def _room() -> int:
    """Return how many runs may be taken up here: those that only wait take no room."""
    working = _working()
    if pace.is_busy():
        return 0 if working else 1
    return max(AT_ONCE - working, 0)


def _begin(run_id: int) -> None:
    """Take a run up; where there is no room for it, a later look does."""
    if run_id in _active or not _room():
        return
    _soon(see_through(run_id))


async def _take(run_id: int) -> Active | None:
    """Take a run and what it needs of the disk; one that cannot go on is ended, which it says."""
    active = await take(run_id, None)
    if active is None:
        return None
    try:
        active.attachment = await in_background(attached.attach, active.conversation.pk)
    except (StoreError, OSError) as problem:
        await _cannot_go_on(active.run, str(problem))
        return None
    return active


async def _cannot_go_on(run: Run, problem: str) -> None:
    if await in_store(heartbeats.count_deaths, run, settings.LEASE):
        await in_store(
            runs.lose, run, f"The turn couldn't resume after the server stopped: {problem}"
        )
    else:
        await in_store(runs.fail, run, CancellationReason.LOST, RunState.FAILED, problem)
    await announce.conversation(run.conversation_id)
    await announce.questions(run.conversation.workspace_id)


async def _execute(active: Active) -> None:
    run = active.run
    try:
        await announce.conversation(run.conversation_id)
        await _play(active)
    except asyncio.CancelledError:
        if not active.gone:
            await in_store(leases.release, run)
        raise
    finally:
        if _active.get(run.pk) is active:
            del _active[run.pk]
        if active.attachment is not None:
            await in_store(active.attachment.release)
    if active.gone and settings.RUNS == "embedded":
        _begin(run.pk)  # an answer may have come while it was being put down
    await announce.partial(run.conversation_id, "message", "")
    await announce.conversation(run.conversation_id)
    await announce.questions(active.conversation.workspace_id)


async def _play(active: Active) -> None:
    """Execute a run until it ends or is put down, whichever comes first."""
    playing = asyncio.create_task(turns.play(active))
    parking_it = asyncio.create_task(parking.parked(active))
    try:
        await asyncio.wait((playing, parking_it), return_when=asyncio.FIRST_COMPLETED)
        if playing.done():
            playing.result()
        else:
            active.gone = True
    finally:
        playing.cancel()
        parking_it.cancel()
        await asyncio.gather(playing, parking_it, return_exceptions=True)


def _heard(signal: fanout.Signal) -> None:
    """Look at a run of which something was said, or that waits to be taken."""
    active = _active.get(signal["run"])
    if active is not None:
        _soon(turns.hear(active))
    elif settings.RUNS == "embedded":
        _begin(signal["run"])


def _soon(work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.get_running_loop().create_task(work, context=contextvars.Context())
    _coming.add(task)
    task.add_done_callback(_coming.discard)


def _missed(_signal: fanout.Signal) -> None:
    """Look at everything: what was said to a run, or woke one, may have gone unheard."""
    if _active or settings.RUNS == "embedded":
        _soon(_looked())


async def _looked() -> None:
    with suppress(*DATABASE_GONE):  # tending tells of it
        await look()


fanout.subscribe("run", _heard)
fanout.subscribe(fanout.LOOK, _missed)

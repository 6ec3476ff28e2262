"""What people see of questions, on its way to the record: gathered here, written now and then.

What is gathered and not yet written is lost with the process, and what is too much is dropped:
that costs a line of the record and never an answer.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from jpweb.runtime.crossing import in_store
from jpweb.store.database import clock
from jpweb.store.outage import DATABASE_GONE
from jpweb.store.telling import showings
from jpweb.store.telling.showings import Pair, Seen

logger = logging.getLogger(__name__)

#: What a page may say of a card that it was sent.
KINDS = frozenset({"visible", "focused", "draft"})
#: Seconds between two writes.
PACE = 1.0
#: Pairs of question and person that are held at most between two writes.
ROOM = 10_000

#: Of them those of one person, whatever their pages say.
ROOM_EACH = 1_000

_held: dict[Pair, Seen] = {}
_held_by: Counter[int] = Counter()
#: What is written already and need not be again; forgotten when it is too much.
_written: set[tuple[Pair, str]] = set()
#: Pages are made in threads, sockets are heard in the loop.
_lock = threading.Lock()


def delivered(person_id: int, keys: Iterable[int]) -> None:
    """Note that cards of these questions were sent to a page of a person."""
    _note(person_id, [(key, "delivered") for key in keys])


def noted(person_id: int, said: Iterable[tuple[int, str]]) -> None:
    """Note what a page of a person says of cards; a kind that is none is passed over."""
    _note(person_id, [(key, kind) for key, kind in said if kind in KINDS])


async def keep() -> None:
    """Write what was gathered, once in a while, until cancelled."""
    while True:
        await asyncio.sleep(PACE)
        await flush()


async def flush() -> None:
    """Write what was gathered. Where the database is away it is kept for the next time."""
    with _lock:
        batch = dict(_held)
        _held.clear()
        _held_by.clear()
    if not batch:
        return
    try:
        kept = await in_store(showings.keep, batch)
    except DATABASE_GONE as problem:
        logger.warning("Who saw which question could not be written: %s", problem)
        with _lock:
            for pair, seen in batch.items():
                for kind, at in seen.said():
                    _merge(pair, kind, at)
        return
    with _lock:
        if len(_written) > ROOM:
            _written.clear()
        _written.update((pair, kind) for pair in kept for kind, _ in batch[pair].said())


def _note(person_id: int, said: Iterable[tuple[int, str]]) -> None:
    now = clock.now()
    with _lock:
        for key, kind in said:
            if ((key, person_id), kind) not in _written:
                _merge((key, person_id), kind, now)


def _merge(pair: Pair, kind: str, at: datetime) -> None:
    """Add to what is held; the earlier of two times stays."""
    seen = _held.get(pair)
    if seen is None:
        if len(_held) >= ROOM or _held_by[pair[1]] >= ROOM_EACH:
            return
        seen = _held[pair] = Seen()
        _held_by[pair[1]] += 1
    held = getattr(seen, kind)
    setattr(seen, kind, at if held is None else min(held, at))

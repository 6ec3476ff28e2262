"""Keeps the leases of this process, in a thread and on a connection of its own.

A renewal that queued behind turns, behind the event loop or behind a connection that hangs would
come late, and other processes would take the runs of a process that lives.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

from django.conf import settings

from jpweb.runtime import process
from jpweb.store.database import patience
from jpweb.store.outage import DATABASE_GONE
from jpweb.store.running import heartbeats, leases

logger = logging.getLogger(__name__)

#: Shares of a lease: from one renewal to the next, to the next try, and for one statement.
BEAT_SHARE, RETRY_SHARE, STATEMENT_SHARE = 1 / 3, 1 / 15, 1 / 5


class RenewalEnded(Exception):
    """The thread that renews leases has ended by a fault, which Python has logged."""


class Renewal:
    """Renews the leases of ``keys()`` from its start to its stop.

    In the event loop that started it, ``renewed`` is called with the keys it asked for and those
    that are still held, and ``late`` once no renewal has come through for a whole lease: from then
    on others may have the runs.
    """

    def __init__(
        self,
        keys: Callable[[], list[int]],
        renewed: Callable[[list[int], set[int]], None],
        late: Callable[[], None],
    ) -> None:
        self._keys = keys
        self._renewed = renewed
        self._late = late
        self._over = threading.Event()
        self._ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._keep, name="leases", daemon=True)

    def start(self) -> None:
        self._thread.start()

    async def watch(self) -> None:
        """Wait for the thread's end. Raises RenewalEnded."""
        await self._ended.wait()
        raise RenewalEnded("The thread that renews leases has ended.")

    async def stop(self) -> None:
        """End the thread; returns once it has, or after as long as one statement may take."""
        self._over.set()
        await asyncio.to_thread(self._thread.join, settings.LEASE * STATEMENT_SHARE)

    def _keep(self) -> None:
        try:
            self._renew_until_over()
        finally:
            self._call(self._ended.set)

    def _renew_until_over(self) -> None:
        with patience.own_connection("leases", settings.LEASE * STATEMENT_SHARE):
            renewed_at, is_told = monotonic(), False
            while not self._over.is_set():
                asked = monotonic()
                try:
                    self._renew()
                    renewed_at, is_told = asked, False
                    pause = settings.LEASE * BEAT_SHARE
                except DATABASE_GONE as problem:
                    if not is_told:
                        logger.warning("leases cannot be renewed: %s", problem)
                    is_told = True
                    pause = settings.LEASE * RETRY_SHARE
                    if monotonic() - renewed_at > settings.LEASE:
                        self._call(self._late)
                self._over.wait(pause)

    def _renew(self) -> None:
        keys = self._keys()
        try:
            held = leases.renew(keys, process.name(), settings.LEASE)
            heartbeats.beat(process.name())
        finally:
            patience.give_back_connection()
        self._call(self._renewed, keys, held)

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        with suppress(RuntimeError):  # the loop has ended, and with it what was executed in it
            self._loop.call_soon_threadsafe(function, *arguments)

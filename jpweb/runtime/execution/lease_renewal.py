"""Renews the leases of this process in a thread with its own database connection.

A renewal behind turns, the event loop or a hanging connection would be late, and other
processes would take the runs of a live process.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Collection
from contextlib import suppress
from time import monotonic
from typing import Generic, TypeVar

from django.conf import settings

from jpweb.runtime import process_identity
from jpweb.store.database import timeouts
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.run_queue import heartbeats, leases

logger = logging.getLogger(__name__)

#: The keys of runs, alone or with the caller's data of each run.
K = TypeVar("K", bound=Collection[int])

#: Shares of a lease: the renewal interval, the delay of a retry, one statement's timeout.
RENEWAL_SHARE, RETRY_SHARE, STATEMENT_SHARE = 1 / 3, 1 / 15, 1 / 5


class RenewalEnded(Exception):
    """The renewal thread has ended by an error, which Python has logged."""


class LeaseRenewer(Generic[K]):
    """Renews the leases of ``list_keys()`` from start to stop.

    In the event loop that started it, ``on_renewed`` is called with what ``list_keys`` returned and
    the held keys, and ``on_expired`` once no renewal succeeded for a whole lease: from then on
    other processes may have the runs.
    """

    def __init__(
        self,
        list_keys: Callable[[], K],
        on_renewed: Callable[[K, set[int]], None],
        on_expired: Callable[[], None],
    ) -> None:
        self._list_keys = list_keys
        self._on_renewed = on_renewed
        self._on_expired = on_expired
        self._stop_event = threading.Event()
        self._ended_event = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run_thread, name="leases", daemon=True)

    def start(self) -> None:
        self._thread.start()

    async def wait_for_end(self) -> None:
        """Wait for the thread's end. Raises RenewalEnded."""
        await self._ended_event.wait()
        raise RenewalEnded("The thread that renews leases has ended.")

    async def stop(self) -> None:
        """Stop the thread; wait at most as long as one statement may take."""
        self._stop_event.set()
        await asyncio.to_thread(self._thread.join, settings.LEASE_SECONDS * STATEMENT_SHARE)

    def _run_thread(self) -> None:
        try:
            self._renew_until_stopped()
        finally:
            self._call_in_loop(self._ended_event.set)

    def _renew_until_stopped(self) -> None:
        with timeouts.use_own_connection("leases", settings.LEASE_SECONDS * STATEMENT_SHARE):
            renewed_at, is_outage_logged = monotonic(), False
            while not self._stop_event.is_set():
                requested_at = monotonic()
                try:
                    self._renew_leases()
                    renewed_at, is_outage_logged = requested_at, False
                    pause_seconds = settings.LEASE_SECONDS * RENEWAL_SHARE
                except DATABASE_UNAVAILABLE as error:
                    if not is_outage_logged:
                        logger.warning("Leases cannot be renewed: %s", error)
                    is_outage_logged = True
                    pause_seconds = settings.LEASE_SECONDS * RETRY_SHARE
                    if monotonic() - renewed_at > settings.LEASE_SECONDS:
                        self._call_in_loop(self._on_expired)
                self._stop_event.wait(pause_seconds)

    def _renew_leases(self) -> None:
        keys = self._list_keys()
        try:
            held_keys = leases.renew_leases(
                keys, process_identity.get_process_name(), settings.LEASE_SECONDS
            )
            heartbeats.record_heartbeat(process_identity.get_process_name())
        finally:
            timeouts.release_connection()
        self._call_in_loop(self._on_renewed, keys, held_keys)

    def _call_in_loop(self, function: Callable[..., None], *arguments: object) -> None:
        with suppress(RuntimeError):  # the event loop is closed, so its runs have ended
            self._loop.call_soon_threadsafe(function, *arguments)

"""Limits how long a run waits for files that another process of jpweb has locked."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.conf import settings

from jpweb.store.jp_files.locks import LOCK_SESSION, LockHeld

if TYPE_CHECKING:
    from datetime import datetime

    from jpweb.store.models import Run

#: Lease durations for which a run may wait: its last holder notices the loss of its lease within
#: one, unless it is paused.
MAX_WAIT_LEASES = 8
#: Lease durations after which a wait is forgotten; other processes may try the run in between.
_KEPT_WAIT_LEASES = 32


@dataclass(slots=True)
class LockWaits:
    """The times since when runs wait, by run and by the last activity of its conversation.

    A run that has recorded an event since begins another wait.
    """

    _start_times: dict[tuple[int, datetime], float] = field(default_factory=dict)

    def can_wait(self, run: Run, error: Exception) -> bool:
        """Tell whether the run, whose files this error refused, is to be tried again."""
        if not isinstance(error, LockHeld) or error.holder.session != LOCK_SESSION:
            return False
        current_time = time.monotonic()
        self._forget_before(current_time - _KEPT_WAIT_LEASES * settings.LEASE_SECONDS)
        key = (run.pk, run.conversation.last_activity)
        start_time = self._start_times.setdefault(key, current_time)
        return current_time - start_time <= MAX_WAIT_LEASES * settings.LEASE_SECONDS

    def _forget_before(self, oldest_time: float) -> None:
        recent_waits = [item for item in self._start_times.items() if item[1] >= oldest_time]
        self._start_times = dict(recent_waits)

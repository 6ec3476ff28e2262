"""Records that a socket is sent a conversation: at first, then once an hour while updates come."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from jpweb.runtime import read_log
from jpweb.runtime.read_log import ReadRecord
from jpweb.store.choices import Act
from jpweb.store.ledger.entries import Actor, Place

if TYPE_CHECKING:
    from jpweb.store.models import Person

#: Seconds in which further updates of the same conversation are the same read.
READ_INTERVAL_SECONDS = 3_600.0
#: The name of the reads of sockets, beside those of routes.
VIEW_NAME = "live-updates"


class ContentReads:
    """The last read that was recorded of one socket."""

    def __init__(self) -> None:
        self._place: Place | None = None
        self._noted_at = 0.0

    def note_content(self, person: Person, place: Place) -> None:
        """Gather a read for the ledger, unless the socket's last one is recent and of the place."""
        current_time = time.monotonic()
        if place == self._place and current_time - self._noted_at < READ_INTERVAL_SECONDS:
            return
        self._place, self._noted_at = place, current_time
        read_log.note_read(ReadRecord(Act.READ, Actor.from_person(person), place, VIEW_NAME))

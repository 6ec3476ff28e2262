"""Secrets between the browser and the one call that waits: in memory, and nowhere else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.views.decorators.debug import sensitive_variables

if TYPE_CHECKING:
    from jpweb.store.inquiries import Decider


class NobodyWaits(Exception):
    """No call waits for the secret, or none took it; it was dropped."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A secret on its way. ``received`` is set by the call once it has it and that is on record.

    The value is left out of the representation, so that it cannot reach a log or an error page.
    """

    value: str = field(repr=False)
    by: Decider
    received: asyncio.Future[None] = field(repr=False)


class Handover:
    """Where the calls of this process wait for secrets, by the key of the inquiry's row."""

    def __init__(self) -> None:
        self._waiting: dict[int, asyncio.Future[Delivery]] = {}

    @contextmanager
    def expected(self, inquiry_key: int) -> Iterator[asyncio.Future[Delivery]]:
        """Wait for one secret for as long as the block lasts; of two blocks the later has it."""
        arrival: asyncio.Future[Delivery] = asyncio.get_running_loop().create_future()
        self._waiting[inquiry_key] = arrival
        try:
            yield arrival
        finally:
            if self._waiting.get(inquiry_key) is arrival:
                del self._waiting[inquiry_key]
            if not arrival.cancel() and not arrival.result().received.done():
                # The call ended with the secret in its hands and nothing on record.
                arrival.result().received.set_exception(NobodyWaits())

    def expects(self, inquiry_key: int) -> bool:
        """Tell whether a call of this process waits."""
        return inquiry_key in self._waiting

    @sensitive_variables()
    async def deliver(self, inquiry_key: int, value: str, by: Decider) -> None:
        """Hand a secret over; returns when the call has it and ``redacted`` is on record.

        Raises NobodyWaits, or what the call met when it recorded (AlreadySettled). Of two at once
        the second waits until it is known what became of the first, and raises NobodyWaits.
        """
        arrival = self._waiting.get(inquiry_key)
        if arrival is not None and arrival.done():
            await asyncio.wait([arrival.result().received])
        if arrival is None or arrival.done():
            raise NobodyWaits
        received: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        arrival.set_result(Delivery(value, by, received))
        await received

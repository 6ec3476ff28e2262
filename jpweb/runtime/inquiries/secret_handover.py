"""Hands a secret from the browser's request to the waiting call, in memory only."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.views.decorators.debug import sensitive_variables

if TYPE_CHECKING:
    from jpweb.store.inquiries import Decider


class NoWaitingCall(Exception):
    """No call waits for the secret, or the call ended without it; the secret was dropped."""


@dataclass(frozen=True, slots=True)
class PendingSecret:
    """A secret in transit. The call sets ``receipt`` once ``redacted`` is committed.

    The value is not in the representation, so it cannot reach a log or an error page.
    """

    value: str = field(repr=False)
    decider: Decider
    receipt: asyncio.Future[None] = field(repr=False)


class SecretHandover:
    """The calls of this process that wait for secrets, by inquiry key."""

    def __init__(self) -> None:
        self._arrivals: dict[int, asyncio.Future[PendingSecret]] = {}

    @contextmanager
    def expect_secret(self, inquiry_key: int) -> Iterator[asyncio.Future[PendingSecret]]:
        """Wait for one secret while the block runs; of two blocks the later gets it."""
        arrival: asyncio.Future[PendingSecret] = asyncio.get_running_loop().create_future()
        self._arrivals[inquiry_key] = arrival
        try:
            yield arrival
        finally:
            if self._arrivals.get(inquiry_key) is arrival:
                del self._arrivals[inquiry_key]
            if not arrival.cancel() and not arrival.result().receipt.done():
                # The call ended after it received the secret, without a commit.
                arrival.result().receipt.set_exception(NoWaitingCall())

    def is_expecting(self, inquiry_key: int) -> bool:
        """Return whether a call of this process waits."""
        return inquiry_key in self._arrivals

    @sensitive_variables()
    async def deliver_secret(self, inquiry_key: int, value: str, decider: Decider) -> None:
        """Hand over a secret; return once the call has it and ``redacted`` is committed.

        Raises NoWaitingCall, or the error of the call's commit (AlreadySettled). Of two concurrent
        deliveries the second waits for the outcome of the first, and raises NoWaitingCall.
        """
        arrival = self._arrivals.get(inquiry_key)
        if arrival is not None and arrival.done():
            await asyncio.wait([arrival.result().receipt])
        if arrival is None or arrival.done():
            raise NoWaitingCall
        receipt: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        arrival.set_result(PendingSecret(value, decider, receipt))
        await receipt

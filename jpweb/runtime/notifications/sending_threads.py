"""Threads that send messages: one for each message, abandoned where the service is slow."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

#: Seconds after which a message counts as undelivered, although it may still arrive.
SEND_TIMEOUT_SECONDS = 15.0
#: A channel, and the key of its destination or browser.
SendingKey = tuple[str, int]
#: Destinations and browsers to which a message is under way.
_busy_keys: set[SendingKey] = set()


def is_busy(key: SendingKey) -> bool:
    """Return whether a message to this destination or browser is under way."""
    return key in _busy_keys


async def run_in_thread(key: SendingKey, deliver: Callable[[], str]) -> str:
    """Deliver a message in a thread; return why that failed, or an empty text.

    The thread is abandoned after SEND_TIMEOUT_SECONDS; until it ends ``is_busy`` returns True,
    and the caller sends nothing more there.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[str] = loop.create_future()

    def set_outcome(problem: str) -> None:
        if not outcome.done():
            outcome.set_result(problem)

    def deliver_in_thread() -> None:
        problem = "The notification library failed."
        try:
            problem = deliver()
        finally:
            _busy_keys.discard(key)
            with suppress(RuntimeError):  # the event loop is closed
                loop.call_soon_threadsafe(set_outcome, problem)

    _busy_keys.add(key)
    threading.Thread(target=deliver_in_thread, daemon=True, name="carrier").start()
    try:
        return await asyncio.wait_for(outcome, SEND_TIMEOUT_SECONDS)
    except TimeoutError:
        return f"No response within {SEND_TIMEOUT_SECONDS:g} seconds."

"""Relays signals between processes over the channel layer, where the settings configure one.

One receiver per process joins one group per kind and dispatches locally. While the layer is
down signals are dropped and callers continue; afterwards every subscriber is resynchronised.

The layer encrypts messages with the key that all processes share. Messages that cannot be
decrypted or are not signals are ignored.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from typing import Any

from channels import DEFAULT_CHANNEL_LAYER
from channels.layers import channel_layers, get_channel_layer
from cryptography.fernet import InvalidToken

from jpweb.runtime import process_identity
from jpweb.runtime.broadcast import local_bus, signal_schemas
from jpweb.runtime.broadcast.invalid_messages import InvalidMessageLog
from jpweb.runtime.broadcast.local_bus import Signal
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.tasks import BackgroundTasks, cancel_once
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.inbox import queue as inbox_queue

logger = logging.getLogger(__name__)

#: Kinds of signals for every process; the layer has one group per kind.
BROADCAST_KINDS = tuple(signal_schemas.BROADCAST_FIELDS)
#: Seconds that a sender waits for the layer; a signal that takes longer is dropped.
LAYER_TIMEOUT_SECONDS = 1.0
#: Seconds after a failure for which senders drop signals without trying the layer.
RETRY_AFTER_SECONDS = 5.0
#: Seconds after a failure until the receiver joins its groups again.
REJOIN_SECONDS = 1.0
#: Seconds between two pings of this process to itself, and for each to arrive.
PING_SECONDS = 2.0
#: Seconds between two comparisons of change marks, in case a signal was lost.
WATCH_POLL_SECONDS = 10.0
#: Errors of decoding a message that was not sent with our key and version.
DECODE_ERRORS = (InvalidToken, ValueError, TypeError)


def get_layer_errors() -> tuple[type[Exception], ...]:
    """Return the errors of an unavailable layer.

    Redis's package is loaded once there is a layer: 0.15 s of processor time at each start.
    """
    from redis.exceptions import RedisError  # noqa: PLC0415  as above

    return RedisError, OSError


class _OutageLog:
    """Outage of the layer; logged once when it begins and once when it ends."""

    def __init__(self) -> None:
        self.started_at: float | None = None
        self.silent_until = 0.0

    def is_silent(self) -> bool:
        """Return whether it is too early to try again."""
        return time.monotonic() < self.silent_until

    def note_failure(self, error: BaseException) -> None:
        """Record a failure."""
        self.silent_until = time.monotonic() + RETRY_AFTER_SECONDS
        if self.started_at is None:
            self.started_at = time.monotonic()
            logger.warning(
                "Other processes cannot be reached: %s", str(error) or type(error).__name__
            )

    def note_success(self) -> bool:
        """Record a success; return whether an outage has ended."""
        started_at, self.silent_until = self.started_at, 0.0
        self.started_at = None
        if started_at is not None:
            duration = time.monotonic() - started_at
            logger.warning("Other processes can be reached again, after %.0f s.", duration)
        return started_at is not None


_outage_log = _OutageLog()
_invalid_messages = InvalidMessageLog()
_closing_tasks = BackgroundTasks()


def make_group(kind: str) -> str:
    """Return the layer's group of a signal kind."""
    return f"jpweb.{kind}"


def make_process_group(name: str) -> str:
    """Return the layer's group of one process."""
    return f"jpweb.process.{sha256(name.encode()).hexdigest()[:32]}"


async def send_signal(group_name: str, signal: Signal) -> None:
    """Send a signal to the other processes, if there can be any; it may be dropped."""
    layer = get_channel_layer()
    if layer is None or _outage_log.is_silent():
        return
    try:
        async with asyncio.timeout(LAYER_TIMEOUT_SECONDS):
            await layer.group_send(
                group_name, signal | {"origin": process_identity.get_process_name()}
            )
    except get_layer_errors() as error:
        _outage_log.note_failure(error)
    else:
        _outage_log.note_success()


async def receive_signals() -> None:
    """Receive signals of other processes until cancelled; return at once without a layer."""
    if get_channel_layer() is None:
        return
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_join_repeatedly())
        tasks.create_task(_ChangePoller().poll_changes())


async def _join_repeatedly() -> None:
    """Join and receive until cancelled, again after each failure of the layer."""
    while True:
        try:
            await _LayerReceiver().join_and_read()
        except get_layer_errors() as error:
            _outage_log.note_failure(error)
        await asyncio.sleep(REJOIN_SECONDS)


class _LayerReceiver:
    """Receives signals until the layer fails."""

    def __init__(self) -> None:
        self.layer: Any = get_channel_layer()
        self.ping_event = asyncio.Event()

    async def join_and_read(self) -> None:
        """Join the groups and receive until cancelled. Raises the layer's errors."""
        try:
            async with asyncio.timeout(PING_SECONDS):
                channel = await self._join_groups()
        except get_layer_errors():
            await self._drop_layer()
            raise
        # No TaskGroup: that of Python 3.11 swallows a cancellation while one of its tasks fails.
        coroutines = (self._read_signals(channel), self._ping_itself())
        tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
        try:
            await asyncio.gather(*tasks)
        finally:
            await cancel_once(*tasks)

    async def _join_groups(self) -> str:
        """Return a new channel that is in every group of this process."""
        channel: str = await self.layer.new_channel()
        for name in (
            *map(make_group, BROADCAST_KINDS),
            make_process_group(process_identity.get_process_name()),
        ):
            await self.layer.group_add(name, channel)
        return channel

    async def _read_signals(self, channel: str) -> None:
        while True:
            try:
                signal = await self.layer.receive(channel)
            except DECODE_ERRORS:
                _invalid_messages.note_message()
                continue
            if not signal_schemas.is_signal(signal):
                _invalid_messages.note_message()
                continue
            origin = signal.pop("origin", "")
            if signal["kind"] == signal_schemas.PING_KIND:
                self.ping_event.set()
            elif origin != process_identity.get_process_name():
                local_bus.dispatch_signal(signal)

    async def _ping_itself(self) -> None:
        """Ping this process through the layer at intervals. Raises TimeoutError if one is lost."""
        own_group = make_process_group(process_identity.get_process_name())
        is_first = True
        while True:
            self.ping_event.clear()
            try:
                async with asyncio.timeout(PING_SECONDS):
                    await self.layer.group_send(own_group, {"kind": signal_schemas.PING_KIND})
                    await self.ping_event.wait()
            except get_layer_errors():
                await self._drop_layer()
                raise
            if _outage_log.note_success() or is_first:
                local_bus.resync_all()
            is_first = False
            await asyncio.sleep(PING_SECONDS)

    async def _drop_layer(self) -> None:
        """Discard the layer with its connections; the next receiver opens a new one."""
        # ``flush`` of channels_redis swallows a cancellation while it ends its own task.
        await _closing_tasks.run_shielded(self._close_layer())
        channel_layers.backends.pop(DEFAULT_CHANNEL_LAYER, None)

    async def _close_layer(self) -> None:
        with suppress(*get_layer_errors()):
            async with asyncio.timeout(LAYER_TIMEOUT_SECONDS):
                await self.layer.flush()


class _ChangePoller:
    """Polls the change marks of watched rows: a lost signal or an outage costs a delay."""

    def __init__(self) -> None:
        self.states: dict[str, dict[int, Any]] = {"conversation": {}, "workspace": {}}

    async def poll_changes(self) -> None:
        """Compare the marks with the previous ones at intervals, and notify local subscribers."""
        while True:
            await asyncio.sleep(WATCH_POLL_SECONDS)
            try:
                await self._notify_changed("conversation", inbox_queue.get_conversation_marks)
                await self._notify_changed("workspace", inbox_queue.get_inbox_marks)
            except DATABASE_UNAVAILABLE as error:
                logger.warning("Changes could not be polled: %s", error)

    async def _notify_changed(
        self, subject: str, read_states: Callable[[set[int]], dict[int, Any]]
    ) -> None:
        keys = local_bus.list_watched_keys(subject)
        current_states = await run_in_db_thread(read_states, keys) if keys else {}
        previous_states, self.states[subject] = self.states[subject], current_states
        for key in keys:
            if key not in previous_states or previous_states[key] != current_states.get(key):
                local_bus.notify_local(subject, key)

"""Between processes: signals go over the channel layer, where the settings name one.

One reader a process joins one group a kind and hands on what it hears. Where the layer is down
signals are dropped and callers go on; once it is back everybody here looks again.

The layer encrypts what it carries, by the key that all processes share. A message that cannot be
decrypted, or has not the shape of a signal, is passed over.
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
from redis.exceptions import RedisError

from jpweb.runtime import process
from jpweb.runtime.crossing import in_store
from jpweb.runtime.signals import fanout, shapes
from jpweb.runtime.signals.fanout import Signal
from jpweb.store.outage import DATABASE_GONE
from jpweb.store.telling import standing

logger = logging.getLogger(__name__)

#: What everybody may have to hear, a group each.
KINDS = tuple(shapes.BROADCAST)
#: Seconds that a caller waits for the layer.
PATIENCE = 1.0
#: Seconds for which nothing is sent after a failure, and after which the reader joins again.
SILENCE, PAUSE = 5.0, 1.0
#: Seconds after which the reader says something to itself, to hear whether the layer carries it.
PULSE = 2.0
#: Seconds between two looks at what is watched here, should a signal have been lost.
TICK = 10.0
#: What a layer that is down raises.
DOWN = (RedisError, OSError)
#: What a message that no process of ours has sent raises when it is read.
UNREADABLE = (InvalidToken, ValueError, TypeError)
#: Seconds between two log lines about messages that were passed over.
STRANGE_LOG_SECONDS = 60.0


class _Strangers:
    """Counts messages that are no signals, and logs their number once in a while."""

    def __init__(self) -> None:
        self.count = 0
        self._silent_until = 0.0

    def note(self) -> None:
        """Count a message."""
        self.count += 1
        now = time.monotonic()
        if now < self._silent_until:
            return
        self._silent_until = now + STRANGE_LOG_SECONDS
        logger.warning(
            "Messages in Redis that are no signals were passed over: %d. All processes need the "
            "same JPWEB_SECRET_KEY and the same version; nobody else may write there.",
            self.count,
        )
        self.count = 0


class _Outage:
    """Whether the layer is down; told once when it begins, and once when it is over."""

    def __init__(self) -> None:
        self.since: float | None = None
        self.silent_until = 0.0

    def lasts(self) -> bool:
        """Tell whether it is too early to try again."""
        return time.monotonic() < self.silent_until

    def begins(self, problem: BaseException) -> None:
        """Note a failure."""
        self.silent_until = time.monotonic() + SILENCE
        if self.since is None:
            self.since = time.monotonic()
            logger.warning(
                "Other processes cannot be reached: %s", str(problem) or type(problem).__name__
            )

    def ends(self) -> bool:
        """Note a success; tells whether there was an outage."""
        was, self.silent_until = self.since, 0.0
        self.since = None
        if was is not None:
            lasted = time.monotonic() - was
            logger.warning("Other processes can be reached again, after %.0f s.", lasted)
        return was is not None


_outage = _Outage()
_strangers = _Strangers()


def group(kind: str) -> str:
    """Return the layer's group of a kind of signals."""
    return f"jpweb.{kind}"


def process_group(name: str) -> str:
    """Return the layer's group that one process alone is in."""
    return f"jpweb.process.{sha256(name.encode()).hexdigest()[:32]}"


async def send(to: str, signal: Signal) -> None:
    """Send a signal to the other processes, if there can be any; it may be dropped."""
    layer = get_channel_layer()
    if layer is None or _outage.lasts():
        return
    try:
        async with asyncio.timeout(PATIENCE):
            await layer.group_send(to, signal | {"origin": process.name()})
    except DOWN as problem:
        _outage.begins(problem)
    else:
        _outage.ends()


async def run() -> None:
    """Hear the other processes, until cancelled; ends at once where there can be none."""
    while get_channel_layer() is not None:
        try:
            await _Reader().run()
        except* DOWN as problems:
            _outage.begins(problems.exceptions[0])
        await asyncio.sleep(PAUSE)


class _Reader:
    """Hears what others say for as long as the layer carries it."""

    def __init__(self) -> None:
        self.layer: Any = get_channel_layer()
        self.heard = asyncio.Event()
        self.seen: dict[str, dict[int, Any]] = {"conversation": {}, "workspace": {}}

    async def run(self) -> None:
        """Join and read, until cancelled. Raises a group of what a layer that is down does."""
        async with asyncio.TaskGroup() as tasks:
            try:
                async with asyncio.timeout(PULSE):
                    channel = await self._joined()
            except DOWN:
                await self._give_up()
                raise
            tasks.create_task(self._read(channel))
            tasks.create_task(self._check())
            tasks.create_task(self._watch())

    async def _joined(self) -> str:
        """Return a channel that hears everything that this process has to."""
        channel: str = await self.layer.new_channel()
        for name in (*map(group, KINDS), process_group(process.name())):
            await self.layer.group_add(name, channel)
        return channel

    async def _read(self, channel: str) -> None:
        while True:
            try:
                signal = await self.layer.receive(channel)
            except UNREADABLE:
                _strangers.note()
                continue
            if not shapes.fits(signal):
                _strangers.note()
                continue
            origin = signal.pop("origin", "")
            if signal["kind"] == shapes.PULSE:
                self.heard.set()
            elif origin != process.name():
                fanout.take(signal)

    async def _check(self) -> None:
        """Say something to this process now and then. Raises TimeoutError if it is not heard."""
        own = process_group(process.name())
        fresh = True
        while True:
            self.heard.clear()
            try:
                async with asyncio.timeout(PULSE):
                    await self.layer.group_send(own, {"kind": shapes.PULSE})
                    await self.heard.wait()
            except DOWN:
                await self._give_up()
                raise
            if _outage.ends() or fresh:
                fanout.look()
            fresh = False
            await asyncio.sleep(PULSE)

    async def _watch(self) -> None:
        """Tell those here what changed without a signal."""
        while True:
            await asyncio.sleep(TICK)
            try:
                await self._tick("conversation", standing.conversations)
                await self._tick("workspace", standing.desks)
            except DATABASE_GONE as problem:
                logger.warning("What changed was not looked for: %s", problem)

    async def _tick(self, about: str, read: Callable[[set[int]], dict[int, Any]]) -> None:
        keys = fanout.watched(about)
        now = await in_store(read, keys) if keys else {}
        before, self.seen[about] = self.seen[about], now
        for key in keys:
            if key not in before or before[key] != now.get(key):
                fanout.changed(about, key)

    async def _give_up(self) -> None:
        """Drop the layer with its connections: the next reader has one of its own."""
        with suppress(*DOWN):
            async with asyncio.timeout(PATIENCE):
                await self.layer.flush()
        channel_layers.backends.pop(DEFAULT_CHANNEL_LAYER, None)

"""Runs a program in a process group of its own, within limits."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from jpweb import datafolder

_STDOUT, _STDERR = 1, 2


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a program may run and how much it may say.

    ``grace`` is how long it has to end after it was told to, before it is killed, and how long it
    is listened to after its end while something that it left running still holds its output.
    """

    seconds: float = 600.0
    grace: float = 2.0
    stdout: int = 4 * 1024 * 1024
    stderr: int = 64 * 1024


class Cut(Enum):
    """Why a program was ended before its time."""

    TIME = "time"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended and what it said; of stderr the end is kept."""

    returncode: int
    stdout: bytes
    stderr: bytes
    cut: Cut | None = None


async def run(
    argv: Sequence[str], folder: Path, environment: Mapping[str, str], limits: Limits
) -> Ended:
    """Run the program to its end. Raises OSError or ValueError where it cannot be started.

    Where this is cancelled, the time is up or the output too long, the whole group is ended.
    """
    loop = asyncio.get_running_loop()
    output = _Output(limits)
    starting = loop.create_task(
        loop.subprocess_exec(
            lambda: output,
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=folder,
            env=environment,
            start_new_session=True,
            umask=datafolder.USER_UMASK,
        )
    )
    cut = None
    try:
        await asyncio.wait({starting})
        starting.result()
        cut = await _listen(output, limits)
    finally:
        # cancelled half-way, asyncio would kill the program alone and leave its group
        await asyncio.wait({starting})
        transport, _ = starting.result()
        try:
            if cut is not None or not output.exited.is_set():
                await _end(transport.get_pid(), output, limits.grace)
        finally:
            transport.close()
    returncode = transport.get_returncode()
    return Ended(-1 if returncode is None else returncode, *output.said(), cut)


class _Output(asyncio.SubprocessProtocol):
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._said = {_STDOUT: bytearray(), _STDERR: bytearray()}
        self._open = {_STDOUT, _STDERR}
        self.flooded = False
        self.exited = asyncio.Event()
        self.over = asyncio.Event()
        self.closed = asyncio.Event()

    def said(self) -> tuple[bytes, bytes]:
        return bytes(self._said[_STDOUT]), bytes(self._said[_STDERR])

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        said = self._said[fd]
        said += data
        if fd == _STDERR:
            del said[: -self._limits.stderr]
        elif len(said) > self._limits.stdout:
            del said[self._limits.stdout :]
            self.flooded = True
            self.over.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open:
            self.closed.set()

    def process_exited(self) -> None:
        self.exited.set()
        self.over.set()


async def _listen(output: _Output, limits: Limits) -> Cut | None:
    """Wait until the program is over and has said everything; return why it must be ended."""
    try:
        async with asyncio.timeout(limits.seconds):
            await output.over.wait()
    except TimeoutError:
        return Cut.TIME
    # what it left running on purpose (a build's daemon) may hold the pipes for ever
    if output.exited.is_set():
        with suppress(TimeoutError):
            async with asyncio.timeout(limits.grace):
                await output.closed.wait()
    return Cut.OUTPUT if output.flooded else None


async def _end(group: int, output: _Output, grace: float) -> None:
    """Tell the group to end; kill what is left of it after the grace, or when cancelled."""
    _signal(group, signal.SIGTERM)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await output.exited.wait()
    finally:
        _signal(group, signal.SIGKILL)
        await output.exited.wait()


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)

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

from jpweb import data_folder

_STDOUT, _STDERR = 1, 2


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """The time that a program may run and the bytes that it may write.

    ``grace`` is how long it has to end after SIGTERM, before it is killed, and how long its pipes
    are read after its end while a process that it left running still holds them.
    """

    seconds: float = 600.0
    grace: float = 2.0
    stdout: int = 4 * 1024 * 1024
    stderr: int = 64 * 1024


class CutReason(Enum):
    """Why a program was ended early."""

    TIME = "time"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """The exit status of a program and its output; of stderr the end is kept."""

    returncode: int
    stdout: bytes
    stderr: bytes
    cut: CutReason | None = None


async def run_program(
    argv: Sequence[str], folder: Path, environment: Mapping[str, str], limits: ProcessLimits
) -> ProcessResult:
    """Run the program to its end. Raises OSError or ValueError where it cannot be started.

    Where this is cancelled, the time is up or the output too long, the whole group is ended.
    """
    loop = asyncio.get_running_loop()
    output = _OutputCollector(limits)
    start_task = loop.create_task(
        loop.subprocess_exec(
            lambda: output,
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=folder,
            env=environment,
            start_new_session=True,
            umask=data_folder.USER_UMASK,
        )
    )
    cut_reason = None
    try:
        await asyncio.wait({start_task})
        start_task.result()
        cut_reason = await _wait_output(output, limits)
    finally:
        # A start cancelled half-way would kill the program alone and leave its process group.
        await asyncio.wait({start_task})
        transport, _ = start_task.result()
        try:
            if cut_reason is not None or not output.exited.is_set():
                await _end_group(transport.get_pid(), output, limits.grace)
        finally:
            transport.close()
    returncode = transport.get_returncode()
    return ProcessResult(-1 if returncode is None else returncode, *output.get_output(), cut_reason)


class _OutputCollector(asyncio.SubprocessProtocol):
    def __init__(self, limits: ProcessLimits) -> None:
        self._limits = limits
        self._buffers = {_STDOUT: bytearray(), _STDERR: bytearray()}
        self._open = {_STDOUT, _STDERR}
        self.is_flooded = False
        self.exited = asyncio.Event()
        self.over = asyncio.Event()
        self.closed = asyncio.Event()

    def get_output(self) -> tuple[bytes, bytes]:
        return bytes(self._buffers[_STDOUT]), bytes(self._buffers[_STDERR])

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        buffer = self._buffers[fd]
        buffer += data
        if fd == _STDERR:
            del buffer[: -self._limits.stderr]
        elif len(buffer) > self._limits.stdout:
            del buffer[self._limits.stdout :]
            self.is_flooded = True
            self.over.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open:
            self.closed.set()

    def process_exited(self) -> None:
        self.exited.set()
        self.over.set()


async def _wait_output(output: _OutputCollector, limits: ProcessLimits) -> CutReason | None:
    """Wait for the end of the program and its output; return why it must be ended."""
    try:
        async with asyncio.timeout(limits.seconds):
            await output.over.wait()
    except TimeoutError:
        return CutReason.TIME
    # A process left running on purpose (a build's daemon) may hold the pipes open forever.
    if output.exited.is_set():
        with suppress(TimeoutError):
            async with asyncio.timeout(limits.grace):
                await output.closed.wait()
    return CutReason.OUTPUT if output.is_flooded else None


async def _end_group(group: int, output: _OutputCollector, grace: float) -> None:
    """Send SIGTERM to the group; SIGKILL the rest of it after the grace, or when cancelled."""
    _signal_group(group, signal.SIGTERM)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await output.exited.wait()
    finally:
        _signal_group(group, signal.SIGKILL)
        await output.exited.wait()


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)

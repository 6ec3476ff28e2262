"""Child processes that are restarted when they exit, and their output."""

from __future__ import annotations

import asyncio
import shutil
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jpweb.runtime.supervisor import run_with_restart
from jpweb.runtime.tasks import run_to_end

#: Seconds between two readiness checks.
_READY_POLL_SECONDS = 0.1
#: Seconds for which output is read after a process has exited.
_OUTPUT_GRACE_SECONDS = 1.0


class ProcessExited(Exception):
    """A supervised process exited; the text says how."""


class NotReady(Exception):
    """A process did not become ready in time."""


@dataclass(slots=True)
class ChildProcess:
    """A child process: its command, how it is stopped, and the receiver of its output lines."""

    name: str
    argv: Sequence[str]
    on_line: Callable[[str], None]
    folder: Path
    env: Mapping[str, str] | None = None
    account_options: Mapping[str, Any] = field(default_factory=dict)
    stop_signal: signal.Signals = signal.SIGTERM
    stop_timeout_seconds: float = 20.0

    async def run_process(self) -> None:
        """Run the process. Raises ProcessExited once it exits; a cancellation stops it."""
        process = await asyncio.create_subprocess_exec(
            *_bind_to_parent(self.argv),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=self.folder,
            env=self.env,
            start_new_session=True,  # Ctrl-C reaches this process alone, which stops the child
            **self.account_options,
        )
        self.on_line(f"Process {process.pid}.")
        output_task = asyncio.ensure_future(self._read_output(process.stdout))
        try:
            exit_code = await process.wait()
        finally:
            await run_to_end(self._stop_process(process, output_task))
        raise ProcessExited(
            f"killed by signal {-exit_code}" if exit_code < 0 else f"ended with code {exit_code}"
        )

    async def _stop_process(
        self, process: asyncio.subprocess.Process, output_task: asyncio.Future[None]
    ) -> None:
        """Stop the process unless it has exited, and read the rest of its output."""
        if process.returncode is None:
            process.send_signal(self.stop_signal)
            try:
                await asyncio.wait_for(process.wait(), self.stop_timeout_seconds)
            except TimeoutError:
                process.kill()
                await process.wait()
        # Its own children may keep the pipe open.
        await asyncio.wait({output_task}, timeout=_OUTPUT_GRACE_SECONDS)
        output_task.cancel()

    async def _read_output(self, output: asyncio.StreamReader | None) -> None:
        remainder = b""
        while output is not None and (chunk := await output.read(4096)):
            *lines, remainder = (remainder + chunk).split(b"\n")
            for line in lines:
                self.on_line(line.decode(errors="replace"))
        if remainder:
            self.on_line(remainder.decode(errors="replace"))


@asynccontextmanager
async def run_supervised(
    children: Sequence[ChildProcess], on_exit: Callable[[str], None]
) -> AsyncIterator[None]:
    """Run processes and restart those that exit; all are stopped in parallel with the block.

    ``on_exit`` gets a line whenever one exits by itself.
    """
    loop = asyncio.get_running_loop()
    tasks = [
        loop.create_task(
            run_with_restart(child.name, child.run_process, (ProcessExited, OSError), on_exit)
        )
        for child in children
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def wait_until_ready(
    is_ready: Callable[[], Awaitable[bool]], name: str, seconds: float
) -> None:
    """Wait until a coroutine function returns True. Raises NotReady."""
    try:
        async with asyncio.timeout(seconds):
            while not await is_ready():  # noqa: ASYNC110  another process cannot set an event here
                await asyncio.sleep(_READY_POLL_SECONDS)
    except TimeoutError:
        raise NotReady(
            f"{name} was not ready within {seconds:g} s; see its messages above."
        ) from None


def _bind_to_parent(argv: Sequence[str]) -> list[str]:
    """Return the command such that the child dies with this process, however this one ends."""
    binder = shutil.which("setpriv")
    return [binder, "--pdeathsig", "TERM", *argv] if binder else list(argv)

"""Processes that are kept running, and what they print."""

from __future__ import annotations

import asyncio
import shutil
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jpweb.cli.supervision import kept_going

#: Seconds between two looks whether a process is ready.
_LOOK = 0.1
#: Seconds that are listened after a process has ended.
_LAST_WORDS = 1.0


class Ended(Exception):
    """A process ended that should run; the text says how."""


class NotReady(Exception):
    """A process did not become ready in time."""


@dataclass(slots=True)
class Child:
    """A process: what is run, how it is ended, and who hears each line that it prints."""

    name: str
    argv: Sequence[str]
    say: Callable[[str], None]
    folder: Path
    env: Mapping[str, str] | None = None
    account: Mapping[str, Any] = field(default_factory=dict)
    by: signal.Signals = signal.SIGTERM
    patience: float = 20.0

    async def run(self) -> None:
        """Run it; raises Ended once it ends. Cancelling this ends it."""
        process = await asyncio.create_subprocess_exec(
            *_bound(self.argv),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=self.folder,
            env=self.env,
            start_new_session=True,  # a Ctrl-C is ours; it is ended in its turn
            **self.account,
        )
        self.say(f"Process {process.pid}.")
        hearing = asyncio.ensure_future(self._hear(process.stdout))
        try:
            code = await process.wait()
        finally:
            await self._end(process)
            await asyncio.wait({hearing}, timeout=_LAST_WORDS)  # what it left behind may hold on
            hearing.cancel()
        raise Ended(f"killed by signal {-code}" if code < 0 else f"ended with code {code}")

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        if process.returncode is not None:
            return
        process.send_signal(self.by)
        try:
            await asyncio.wait_for(process.wait(), self.patience)
        except TimeoutError:
            process.kill()
            await process.wait()

    async def _hear(self, output: asyncio.StreamReader | None) -> None:
        rest = b""
        while output is not None and (piece := await output.read(4096)):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                self.say(line.decode(errors="replace"))
        if rest:
            self.say(rest.decode(errors="replace"))


@asynccontextmanager
async def kept(children: Sequence[Child], tell: Callable[[str], None]) -> AsyncIterator[None]:
    """Keep processes running, begun again when they end; all end with the block, at once.

    ``tell`` gets a line whenever one has ended by itself.
    """
    loop = asyncio.get_running_loop()
    tasks = [
        loop.create_task(kept_going(child.name, child.run, (Ended, OSError), tell))
        for child in children
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def until(ready: Callable[[], Awaitable[bool]], name: str, seconds: float) -> None:
    """Wait until a coroutine function says yes. Raises NotReady."""
    try:
        async with asyncio.timeout(seconds):
            while not await ready():  # noqa: ASYNC110  another process cannot set an event here
                await asyncio.sleep(_LOOK)
    except TimeoutError:
        raise NotReady(
            f"{name} was not ready within {seconds:g} s; see its messages above."
        ) from None


def _bound(argv: Sequence[str]) -> list[str]:
    """Return the command such that it ends with this process, however that ends."""
    binder = shutil.which("setpriv")
    return [binder, "--pdeathsig", "TERM", *argv] if binder else list(argv)

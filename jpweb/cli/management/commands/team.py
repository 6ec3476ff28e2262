"""Run everything that a team's jpweb consists of on this machine, for trying it."""

from __future__ import annotations

import asyncio
import fcntl
import signal
from contextlib import closing
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from jpweb.cli import server
from jpweb.cli.team.children import NotReady
from jpweb.cli.team.household import Household, Unusable, Wanted
from jpweb.cli.team.programs import Missing


class Command(BaseCommand):
    """``jpweb team [--workspace PATH]``."""

    help = "Run PostgreSQL, Redis, two web servers, two workers and a balancer, until Ctrl-C."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--workspace", type=Path, help="a repository that uses jp")

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = Wanted(settings.DATA_DIR, settings.PORT, options["workspace"], self._hear)
        with closing(self._lock()):
            try:
                server.check_port(settings.PORT)
                asyncio.run(self._run(Household(wanted)))
            except (server.PortTaken, Missing, NotReady, Unusable) as problem:
                raise CommandError(str(problem)) from problem
        self._hear("team", "Stopped.")

    async def _run(self, household: Household) -> None:
        """Live until a signal says otherwise; it may come while everything is still starting."""
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, stop.set)
        living = loop.create_task(self._live(household))
        stopping = loop.create_task(stop.wait())
        await asyncio.wait({living, stopping}, return_when=asyncio.FIRST_COMPLETED)
        living.cancel()
        stopping.cancel()
        await asyncio.wait({living})
        if not living.cancelled():
            living.result()

    async def _live(self, household: Household) -> None:
        self._hear("team", "Starting PostgreSQL, Redis, two web servers and two workers ...")
        async with household.up() as link:
            self._hear(
                "team",
                f"jpweb is ready. Open this link to sign in; it works once:\n\n    {link}\n\n"
                "Press Ctrl-C to stop everything. Your data is kept for the next start.",
            )
            await asyncio.Event().wait()

    def _hear(self, name: str, text: str) -> None:
        for line in text.splitlines():
            self.stdout.write(f"{name:<8} | {line}")
        self.stdout.flush()

    def _lock(self) -> IO[str]:
        """Hold the folder, so that one at a time works on it."""
        folder = settings.DATA_DIR / "team"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock: IO[str] = (folder / "lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.close()
            raise CommandError(
                f"A team's jpweb is already running on {settings.DATA_DIR}. Stop it first, or use "
                "another folder: JPWEB_DATA=/some/folder"
            ) from error
        return lock

"""Execute runs: one of the processes that ``JPWEB_RUNS=workers`` leaves the work to."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from jpweb import installation
from jpweb.cli import server
from jpweb.cli.progress import bar
from jpweb.cli.worker import Executor, Worker
from jpweb.runtime import presence, showing, wiring
from jpweb.runtime.duties import keeping
from jpweb.runtime.executing import holding
from jpweb.runtime.signals import relay
from jpweb.store import schema
from jpweb.store.errors import NoDatabase

#: How many runs are executed at once.
RUNS = 50


async def leave() -> None:
    """Leave to others what this process was at."""
    await holding.let_go()
    await keeping.leave()
    await showing.flush()


def executor() -> Executor:
    """Return what executes runs, and what every process that does has to do beside."""
    return Executor(
        holding.see_through,
        leave,
        {
            "leases": holding.tend,
            "periodic tasks": keeping.keep,
            "signals": relay.run,
            "presence": presence.beat,
            "read receipts": showing.keep,
        },
        holding.wait_for_room,
    )


class Command(BaseCommand):
    """``jpweb work [--runs N]``."""

    help = "Run a worker that executes turns, until stopped. Start as many as you like."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--runs", type=int, default=RUNS, help="turns executed at once; default: %(default)s"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.RUNS != "workers":
            raise CommandError(
                "Workers need JPWEB_RUNS=workers; without it, the server executes turns itself. "
                f"To try them on one machine: {installation.TEAM_COMMAND}"
            )
        limit = options["runs"]
        if limit < 1:
            raise CommandError(f"--runs must be at least 1, not {limit}.")
        try:
            with bar("Updating conversations") as progress:
                schema.prepare(progress)
        except NoDatabase as problem:
            raise CommandError(str(problem)) from problem
        wiring.tidy()
        self._say(f"Executing up to {limit} turns at once. Press Ctrl-C to stop.")
        asyncio.run(self._work(Worker(executor(), limit)))

    async def _work(self, worker: Worker) -> None:
        """Work, and leave from here: what hangs on a server that is away would be waited for."""
        stop = asyncio.Event()
        for each in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(each, stop.set)
        left = await worker.work(stop)
        self._say(
            f"Stopped. Unfinished turns left to other workers: {left}." if left else "Stopped."
        )
        server.leave()

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()

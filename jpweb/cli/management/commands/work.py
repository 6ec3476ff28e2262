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
            "duties": keeping.keep,
            "signals": relay.run,
            "presence": presence.beat,
            "what was shown": showing.keep,
        },
        holding.wait_for_room,
    )


class Command(BaseCommand):
    """``jpweb work [--runs N]``."""

    help = "Execute runs, until it is ended; as many of these as you like may work at once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--runs", type=int, default=RUNS, help="at once; %(default)s")

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.RUNS != "workers":
            raise CommandError(
                "jpweb executes runs in its server here; workers need JPWEB_RUNS=workers. "
                f"To try them on one machine: {installation.TEAM_COMMAND}"
            )
        limit = options["runs"]
        if limit < 1:
            raise CommandError(f"--runs must be at least 1, not {limit}.")
        try:
            with bar("Bringing conversations up to date") as progress:
                schema.prepare(progress)
        except NoDatabase as problem:
            raise CommandError(str(problem)) from problem
        wiring.tidy()
        self._say(f"Executing up to {limit} runs at once. Ctrl-C ends it.")
        asyncio.run(self._work(Worker(executor(), limit)))

    async def _work(self, worker: Worker) -> None:
        """Work, and leave from here: what hangs on a server that is away would be waited for."""
        stop = asyncio.Event()
        for each in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(each, stop.set)
        left = await worker.work(stop)
        self._say(f"Stopped; {left} runs are left to others." if left else "Stopped.")
        server.leave()

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()

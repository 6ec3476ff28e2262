"""Execute runs, as one of the processes of ``JPWEB_RUNS=workers``."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from jpweb import installation
from jpweb.cli import daphne_server
from jpweb.cli.progress import show_progress
from jpweb.cli.worker import Worker, WorkerCallbacks
from jpweb.runtime import wiring
from jpweb.runtime.broadcast import channel_layer
from jpweb.runtime.execution import run_executor
from jpweb.runtime.inquiries import presence, receipt_buffer
from jpweb.runtime.periodic import scheduler
from jpweb.store import bootstrap
from jpweb.store.errors import DatabaseUnavailable, WrongSecretKey
from jpweb.store.ledger import sealing

#: Runs that a worker executes in parallel.
DEFAULT_RUN_LIMIT = 50


async def release_all() -> None:
    """Release the runs, leases and buffers of this process."""
    await run_executor.release_all()
    await scheduler.stop_scheduler()
    await receipt_buffer.flush_receipts()


def make_executor() -> WorkerCallbacks:
    """Return the run executor with the background work of a worker process."""
    return WorkerCallbacks(
        run_executor.execute_run,
        release_all,
        {
            "leases": run_executor.maintain_leases,
            "periodic tasks": scheduler.run_scheduler,
            "signals": channel_layer.receive_signals,
            "presence": presence.refresh_presence,
            "read receipts": receipt_buffer.flush_periodically,
        },
        run_executor.wait_for_capacity,
    )


class Command(BaseCommand):
    """``jpweb work [--runs N]``."""

    help = "Run a worker that executes turns, until stopped. Start as many as you like."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--runs",
            type=int,
            default=DEFAULT_RUN_LIMIT,
            help="turns executed at once; default: %(default)s",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.RUN_MODE != "workers":
            raise CommandError(
                "Workers need JPWEB_RUNS=workers; without it, the server executes turns itself. "
                f"To try them on one machine: {installation.TEAM_COMMAND}"
            )
        limit = options["runs"]
        if limit < 1:
            raise CommandError(f"--runs must be at least 1, not {limit}.")
        try:
            with bootstrap.translate_errors():
                with show_progress("Preparing the database") as progress:
                    bootstrap.prepare_database(progress)
                sealing.require_own_key()  # the worker may seal the ledger
        except (DatabaseUnavailable, WrongSecretKey) as error:
            raise CommandError(str(error)) from error
        wiring.remove_leftovers()
        self._print_line(f"Executing up to {limit} turns at once. Press Ctrl-C to stop.")
        asyncio.run(self._run_worker(Worker(make_executor(), limit)))

    async def _run_worker(self, worker: Worker) -> None:
        """Run the worker, then exit the process: Python would wait for hanging connections."""
        stop = asyncio.Event()
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(signal_number, stop.set)
        released_count = await worker.run_until_stopped(stop)
        self._print_line(
            f"Stopped. Unfinished turns left to other workers: {released_count}."
            if released_count
            else "Stopped."
        )
        daphne_server.exit_process()

    def _print_line(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()

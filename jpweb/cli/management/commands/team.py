"""Run a local cluster of jpweb on this machine, for trying."""

from __future__ import annotations

import asyncio
import fcntl
import signal
from contextlib import closing
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from jpweb.cli import daphne_server
from jpweb.cli.local_cluster.binaries import MissingProgram
from jpweb.cli.local_cluster.child_process import NotReady
from jpweb.cli.local_cluster.cluster import ClusterOptions, LocalCluster, SetupError


class Command(BaseCommand):
    """``jpweb team [--workspace PATH]``."""

    help = "Run PostgreSQL, Redis, two web servers and two workers, until Ctrl-C."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--workspace", type=Path, help="a repository that uses jp")

    def handle(self, *args: Any, **options: Any) -> None:
        cluster_options = ClusterOptions(
            settings.DATA_DIR, settings.PORT, options["workspace"], self._print_lines
        )
        with closing(self._lock_folder()):
            try:
                daphne_server.check_port(settings.PORT)
                asyncio.run(self._run_until_signal(LocalCluster(cluster_options)))
            except (daphne_server.PortTaken, MissingProgram, NotReady, SetupError) as error:
                raise CommandError(str(error)) from error
        self._print_lines("team", "Stopped.")

    async def _run_until_signal(self, cluster: LocalCluster) -> None:
        """Run the cluster until a signal, which may arrive while it is still starting."""
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signal_number, stop.set)
        cluster_task = loop.create_task(self._run_cluster(cluster))
        stop_task = loop.create_task(stop.wait())
        await asyncio.wait({cluster_task, stop_task}, return_when=asyncio.FIRST_COMPLETED)
        cluster_task.cancel()
        stop_task.cancel()
        await asyncio.wait({cluster_task})
        if not cluster_task.cancelled():
            cluster_task.result()

    async def _run_cluster(self, cluster: LocalCluster) -> None:
        self._print_lines("team", "Starting PostgreSQL, Redis, two web servers and two workers ...")
        async with cluster.start_all() as addresses:
            self._print_lines(
                "team",
                "jpweb is ready. Open this link to sign in; it works once:\n\n"
                f"    {addresses.sign_in_link}\n\n"
                f"You are then signed in on each web server: {' and '.join(addresses.web_urls)}\n"
                "Press Ctrl-C to stop everything. Your data is kept for the next start.",
            )
            await asyncio.Event().wait()

    def _print_lines(self, name: str, text: str) -> None:
        for line in text.splitlines():
            self.stdout.write(f"{name:<8} | {line}")
        self.stdout.flush()

    def _lock_folder(self) -> IO[str]:
        """Lock the folder, so that one command at a time uses it. Raises CommandError."""
        folder = settings.DATA_DIR / "team"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock: IO[str] = (folder / "lock").open("a+")
        except OSError as error:
            raise CommandError(
                f"JPWEB_DATA cannot be used: {error.filename}: {error.strerror}."
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.close()
            raise CommandError(
                f"A team's jpweb is already running on {settings.DATA_DIR}. Stop it first, or use "
                "another folder: JPWEB_DATA=/some/folder"
            ) from error
        except OSError as error:  # some network file systems have no locks
            lock.close()
            raise CommandError(f"{folder / 'lock'} cannot be locked: {error.strerror}.") from error
        return lock

"""Start jpweb: prepare the data folder, mirror, print a sign-in link, serve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from channels.routing import get_default_application
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from jpweb.cli import server
from jpweb.cli.lock import lock_data_dir
from jpweb.cli.progress import bar
from jpweb.cli.supervision import Work, kept_going
from jpweb.runtime import presence, runs, showing, wiring
from jpweb.runtime.duties import keeping
from jpweb.runtime.executing import holding
from jpweb.runtime.signals import relay, sign_ins
from jpweb.store import accounts, schema
from jpweb.store.disk import mirror, workspace
from jpweb.store.errors import BadName, NoDatabase, NoWorkspace
from jpweb.store.outage import DATABASE_GONE


async def _leave() -> None:
    """Leave to others, and to the next start, what this process was at."""
    await runs.let_go()
    await keeping.leave()
    await showing.flush()
    await sign_ins.write_used()
    await presence.leave_all()


class Command(BaseCommand):
    """``jpweb serve [--workspace PATH]``."""

    help = "Prepare the database, mirror workspaces, print a one-time sign-in link and serve."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--workspace", type=Path, help="a repository that uses jp")

    def handle(self, *args: Any, **options: Any) -> None:
        # Servers beside workers execute nothing, so any number may share a data folder.
        lock = lock_data_dir() if settings.RUNS == "embedded" else None
        try:
            server.check_port(settings.PORT)
            with schema.alone(), schema.refused_in_words():
                self._prepare(options["workspace"])
        except (server.PortTaken, BadName, NoDatabase, NoWorkspace) as problem:
            raise CommandError(str(problem)) from problem
        works: dict[str, Work] = {
            "presence": presence.beat,
            "read receipts": showing.keep,
            "sign-ins": sign_ins.keep,
        }
        if settings.REDIS_URL:
            works["signals"] = relay.run
        if settings.RUNS == "embedded":
            wiring.tidy()
            works |= {"leases": holding.tend, "periodic tasks": keeping.keep}
        beside = [kept_going(name, work, DATABASE_GONE) for name, work in works.items()]
        server.serve(get_default_application(), settings.PORT, self._greet, beside, _leave)
        self.stdout.write("Stopped.")
        if lock is not None:
            lock.close()
        server.leave()

    def _prepare(self, path: Path | None) -> None:
        """Migrate and mirror; raises NoWorkspace before anything is written for a bad path."""
        if path is not None:
            workspace.find(path)
        with bar("Updating conversations") as progress:
            schema.prepare(progress)
        owner = accounts.first_owner()
        for source, name in ((mirror.DEMO, "Demo"), (path, "")):
            if source is None:
                continue
            with bar(f"Reading {name or source}") as progress:
                home, report = mirror.mirror(source, name, progress)
            accounts.make_owner(owner, home)
            self.stdout.write(f"{home.name}: {report.line()}")
            for problem in report.problems:
                self.stderr.write(f"  {problem}")

    def _greet(self) -> None:
        if settings.RUNS == "workers":  # one of several: a link is made by a command
            self.stdout.write(
                f"Serving on http://{server.HOST}:{settings.PORT}. Press Ctrl-C to stop."
            )
            self.stdout.flush()
            return
        token = accounts.issue_link(accounts.first_owner())
        self.stdout.write(
            "jpweb is ready. Open this link to sign in; it works once:\n\n"
            f"    {settings.PUBLIC_URL}/sign-in#{token}\n\n"
            "Press Ctrl-C to stop. The next start prints a new link; nothing is lost."
        )
        self.stdout.flush()

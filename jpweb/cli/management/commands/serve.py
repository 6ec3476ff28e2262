"""Start jpweb: prepare the data folder, mirror workspaces, print a sign-in link, serve."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from channels.routing import get_default_application
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from jpweb.cli import daphne_server, public_host
from jpweb.cli.data_folder_lock import lock_data_dir
from jpweb.cli.progress import show_progress
from jpweb.evidence.ledger_verifier import escape_line
from jpweb.runtime import read_log, runs, wiring
from jpweb.runtime.broadcast import channel_layer, session_expiry
from jpweb.runtime.execution import run_executor
from jpweb.runtime.inquiries import presence, receipt_buffer
from jpweb.runtime.periodic import scheduler
from jpweb.runtime.supervisor import CoroutineFunction, run_with_restart
from jpweb.store import accounts, bootstrap
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.errors import DatabaseUnavailable, InvalidName, NoWorkspace
from jpweb.store.jp_files import mirror, workspace
from jpweb.store.ledger import sealing
from jpweb.store.maintenance import task_leases

if TYPE_CHECKING:
    from jpweb.store.models import Workspace


async def _release_all() -> None:
    """Release the runs, leases and buffers of this process."""
    run_executor.stop_acquiring()
    await runs.release_runs()
    await scheduler.stop_scheduler()
    await receipt_buffer.flush_receipts()
    await read_log.flush_reads()
    await session_expiry.write_used_sign_ins()
    await presence.unregister_all()


class Command(BaseCommand):
    """``jpweb serve [--workspace PATH]``."""

    help = "Prepare the database, mirror workspaces, print a one-time sign-in link and serve."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--workspace", type=Path, help="a repository that uses jp")

    def handle(self, *args: Any, **options: Any) -> None:
        # With workers, servers execute no runs, so any number may share a data folder.
        lock = lock_data_dir() if settings.RUN_MODE == "embedded" else None
        try:
            daphne_server.check_port(settings.PORT)
            with bootstrap.hold_prepare_lock(), bootstrap.translate_errors():
                self._prepare_data(options["workspace"])
        except (daphne_server.PortTaken, InvalidName, DatabaseUnavailable, NoWorkspace) as error:
            raise CommandError(str(error)) from error
        work_by_name: dict[str, CoroutineFunction] = {
            "presence": presence.refresh_presence,
            "read receipts": receipt_buffer.flush_periodically,
            "read log": read_log.flush_periodically,
            "sign-ins": session_expiry.run_checks,
        }
        if settings.REDIS_URL:
            work_by_name["signals"] = channel_layer.receive_signals
        if settings.RUN_MODE == "embedded":
            wiring.remove_leftovers()
            work_by_name |= {
                "leases": run_executor.maintain_leases,
                "periodic tasks": scheduler.run_scheduler,
            }
        else:
            work_by_name["own lease"] = scheduler.hold_own_lease
        background_work = [
            run_with_restart(name, work, DATABASE_UNAVAILABLE)
            for name, work in work_by_name.items()
        ]
        try:
            daphne_server.run_server(
                get_default_application(),
                settings.PORT,
                self._print_greeting,
                background_work,
                _release_all,
            )
        except daphne_server.PortTaken as error:
            raise CommandError(str(error)) from error
        self.stdout.write("Stopped.")
        if lock is not None:
            lock.close()
        daphne_server.exit_process()

    def _prepare_data(self, path: Path | None) -> None:
        """Migrate and mirror. Raises NoWorkspace for a bad path before anything is written."""
        if path is not None:
            workspace.find_workspace(path)
        with show_progress("Preparing the database") as progress:
            bootstrap.prepare_database(progress)
        self._adopt_key()
        owner = accounts.get_or_create_owner()
        for source, name in ((mirror.DEMO_PATH, "Demo"), (path, "")):
            if source is None:
                continue
            stopped_row = self._find_stopped(source)
            if stopped_row is not None:
                accounts.make_owner(owner, stopped_row)
                self.stdout.write(f"{stopped_row.name}: not followed, an owner stopped it")
                continue
            with show_progress(f"Reading {name or source}") as progress:
                mirrored_workspace, report = mirror.mirror_workspace(source, name, progress)
            if source != mirror.DEMO_PATH or owner.hidden_demo_role is None:
                accounts.make_owner(owner, mirrored_workspace)
            self.stdout.write(f"{mirrored_workspace.name}: {report.format_line()}")
            for problem in report.problems:
                self.stderr.write(f"  {escape_line(problem)}")

    def _adopt_key(self) -> None:
        """Adopt this process's key for the ledger, unless processes with another one run beside it.

        An embedded server has the data folder's lock, so what holds a lease there has been killed.
        Raises CommandError.
        """
        if settings.RUN_MODE == "workers" and task_leases.is_any_held() and sealing.has_other_key():
            raise CommandError(
                "The ledger is signed with another key, and a jpweb runs on this database: set "
                "JPWEB_SECRET_KEY as for that one. To change the key, stop all processes first; "
                "one that was killed counts as running for some seconds."
            )
        sealing.adopt_key()

    def _find_stopped(self, path: Path) -> Workspace | None:
        """Return the row of the workspace at or above a path, if an owner stopped following it."""
        workspace_row = mirror.find_row(workspace.find_workspace(path))
        return None if workspace_row is None or workspace_row.is_followed else workspace_row

    def _print_greeting(self) -> None:
        public_host.warn_unless_served(self.stderr)
        # One of several servers prints no link: `sign_in_link` does.
        if settings.RUN_MODE == "workers" or not accounts.get_or_create_owner().is_active:
            self.stdout.write(
                f"Serving on http://{daphne_server.HOST}:{settings.PORT}. Press Ctrl-C to stop."
            )
            self.stdout.flush()
            return
        token = accounts.issue_link(accounts.get_or_create_owner())
        self.stdout.write(
            "jpweb is ready. Open this link to sign in; it works once:\n\n"
            f"    {settings.PUBLIC_URL}/sign-in#{token}\n\n"
            "Press Ctrl-C to stop. The next start prints a new link; nothing is lost."
        )
        self.stdout.flush()

"""Mirror a JP workspace, once or whenever it changes."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.table import Table
from rich.text import Text

from jpweb import text_settings
from jpweb.cli.progress import show_progress
from jpweb.evidence.ledger_verifier import escape_line
from jpweb.runtime.periodic import watch_workspaces
from jpweb.runtime.supervisor import run_periodically
from jpweb.store import accounts, bootstrap
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.store.errors import DatabaseUnavailable, InvalidName, NoWorkspace, WrongSecretKey
from jpweb.store.jp_files import mirror
from jpweb.store.ledger import sealing

if TYPE_CHECKING:
    from jpweb.store.jp_files.mirror import MirrorReport
    from jpweb.store.models import Conversation, Workspace
    from jpweb.stream.stats import StreamStats


class Command(BaseCommand):
    """``jpweb mirror PATH [--name NAME] [--watch] [--json]``."""

    requires_system_checks = (text_settings.CHECK_TAG,)
    help = "Mirror the JP workspace at or above PATH; unchanged conversations are skipped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path)
        parser.add_argument("--name", default="", help="default: the folder's name")
        parser.add_argument(
            "--watch", action="store_true", help="keep following changes until Ctrl-C"
        )
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with bootstrap.translate_errors():
                workspace = self._mirror_once(options["path"], options["name"], options["json"])
        except (InvalidName, DatabaseUnavailable, NoWorkspace, WrongSecretKey) as error:
            raise CommandError(str(error)) from error
        if not workspace.is_followed:
            self.stderr.write(
                f"{workspace.name} is not followed: an owner stopped it. What changed until now was"
                " read. “Follow again” is on its People page."
            )
        if options["watch"]:
            self._watch_workspace(Path(workspace.root))

    def _mirror_once(self, path: Path, name: str, is_json: bool) -> Workspace:
        """Mirror once and print the report; return the workspace's row."""
        with show_progress("Preparing the database") as progress:
            bootstrap.prepare_database(progress)
        sealing.require_own_key()
        with show_progress(f"Reading {path}") as progress:
            workspace, report = mirror.mirror_workspace(path, name, progress)
        accounts.make_owner(accounts.get_or_create_owner(), workspace)
        if is_json:
            self._print_json(workspace, report)
        else:
            self._print_table(workspace, report)
        return workspace

    def _print_json(self, workspace: Workspace, report: MirrorReport) -> None:
        document = {
            "workspace": {"root": workspace.root, "id": workspace.jp_id, "name": workspace.name},
            "problems": report.problems,
            "conversations": [
                _make_entry(c, counts) for c, counts in mirror.iterate_stats(workspace)
            ],
        }
        self.stdout.write(json.dumps(document, indent=2, ensure_ascii=False))

    def _print_table(self, workspace: Workspace, report: MirrorReport) -> None:
        table = Table("conversation", "events", "turns", "questions", "unknown", "broken")
        for conversation, counts in mirror.iterate_stats(workspace):
            inquiries = ", ".join(f"{count} {state}" for state, count in counts.inquiries.items())
            cells = (counts.element_count, counts.turns, inquiries, counts.unknown, counts.broken)
            # As text: in a cell that is a string, rich takes brackets for styles.
            name = Text(escape_line(conversation.source))
            table.add_row(name, *(str(cell) for cell in cells))
        Console().print(table)
        self._print_report(report)

    def _print_report(self, report: MirrorReport) -> None:
        self.stdout.write(report.format_line())
        self.stdout.flush()
        for line in report.problems:
            self.stderr.write(f"  {escape_line(line)}")

    def _watch_workspace(self, root: Path) -> None:
        self.stderr.write("Watching for changes. Press Ctrl-C to stop.")
        follow = partial(watch_workspaces.follow_workspace, root, self._print_report)
        seconds = watch_workspaces.RETRY_SECONDS
        try:
            asyncio.run(
                run_periodically(f"following {root}", follow, seconds, DATABASE_UNAVAILABLE)
            )
        except KeyboardInterrupt:
            self.stderr.write("Stopped.")


def _make_entry(conversation: Conversation, counts: StreamStats) -> dict[str, Any]:
    return {
        "id": f"jp-c{conversation.jp_id}",
        "title": conversation.title,
        "folder": conversation.source,
        "archived": conversation.archived,
        "removed": conversation.removed_at is not None,
        "problem": conversation.problem,
    } | counts.to_json()

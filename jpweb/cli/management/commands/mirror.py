"""Copy what is new in a JP workspace, once or for as long as it changes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.table import Table

from jpweb.cli.progress import bar
from jpweb.runtime.duties import watching
from jpweb.store import accounts, schema
from jpweb.store.disk import mirror
from jpweb.store.errors import BadName, NoDatabase, NoWorkspace

if TYPE_CHECKING:
    from jpweb.store.disk.mirror import Report
    from jpweb.store.models import Conversation, Workspace
    from jpweb.stream.census import Census


class Command(BaseCommand):
    """``jpweb mirror PATH [--name NAME] [--watch] [--json]``."""

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
            with bar("Updating conversations") as progress:
                schema.prepare(progress)
            with bar(f"Reading {options['path']}") as progress:
                home, report = mirror.mirror(options["path"], options["name"], progress)
        except (BadName, NoDatabase, NoWorkspace) as problem:
            raise CommandError(str(problem)) from problem
        accounts.make_owner(accounts.first_owner(), home)
        if options["json"]:
            self._print_json(home, report)
        else:
            self._print_table(home, report)
        if options["watch"]:
            self._watch(Path(home.root))

    def _print_json(self, home: Workspace, report: Report) -> None:
        found = {
            "workspace": {"root": home.root, "id": home.jp_id, "name": home.name},
            "problems": report.problems,
            "conversations": [_entry(c, counts) for c, counts in mirror.counted(home)],
        }
        self.stdout.write(json.dumps(found, indent=2, ensure_ascii=False))

    def _print_table(self, home: Workspace, report: Report) -> None:
        table = Table("conversation", "events", "turns", "inquiries", "unknown", "broken")
        for conversation, counts in mirror.counted(home):
            inquiries = ", ".join(f"{n} {state}" for state, n in counts.inquiries.items())
            plain = (counts.elements, counts.turns, inquiries, counts.unknown, counts.broken)
            table.add_row(conversation.source, *(str(cell) for cell in plain))
        Console().print(table)
        self._tell(report)

    def _tell(self, report: Report) -> None:
        self.stdout.write(report.line())
        self.stdout.flush()
        for line in report.problems:
            self.stderr.write(f"  {line}")

    def _watch(self, root: Path) -> None:
        self.stderr.write("Watching for changes. Press Ctrl-C to stop.")
        try:
            asyncio.run(watching.follow(root, self._tell))
        except KeyboardInterrupt:
            self.stderr.write("Stopped.")


def _entry(conversation: Conversation, counts: Census) -> dict[str, Any]:
    return {
        "id": f"jp-c{conversation.jp_id}",
        "title": conversation.title,
        "folder": conversation.source,
        "archived": conversation.archived,
        "removed": conversation.gone_at is not None,
        "problem": conversation.problem,
    } | counts.to_json()

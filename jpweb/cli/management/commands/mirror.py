"""Copy what is new in a JP workspace, once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jpweb.cli.progress import bar
from jpweb.store import accounts, mirror
from jpweb.store.errors import NoWorkspace


class Command(BaseCommand):
    """``manage.py mirror PATH``."""

    help = "Mirror the JP workspace at or above PATH; unchanged conversations cost a look each."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with bar(f"Reading {options['path']}") as progress:
                home, report = mirror.mirror(options["path"], "", progress)
        except NoWorkspace as problem:
            raise CommandError(str(problem)) from problem
        accounts.make_owner(accounts.first_owner(), home)
        self.stdout.write(f"{home.name}: {report.line()}")
        for line in report.problems:
            self.stderr.write(f"  {line}")

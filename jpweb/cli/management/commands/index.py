"""Index what search has yet to look at, or everything anew."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jpweb.cli.progress import bar
from jpweb.store import schema
from jpweb.store.errors import NoDatabase
from jpweb.store.finding import index


class Command(BaseCommand):
    """``jpweb index [--all]``."""

    help = "Bring the search index up to date. A running server does this in the background."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--all", action="store_true", help="rebuild the index from scratch")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            schema.prepare()
        except NoDatabase as problem:
            raise CommandError(str(problem)) from problem
        if options["all"]:
            self._forget()
        total = index.left()
        done: set[int] = set()
        with bar("Indexing") as progress:
            while (key := index.step()) is not None:
                done.add(key)
                progress(len(done), max(total, len(done)), "")
        self.stdout.write(f"{len(done)} conversations indexed.")

    def _forget(self) -> None:
        keys = list(index.every())
        with bar("Clearing the index") as progress:
            for done, key in enumerate(keys):
                index.forget(key)
                progress(done + 1, len(keys), "")

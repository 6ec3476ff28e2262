"""Index changed conversations for search, or rebuild the whole index."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from jpweb import text_settings
from jpweb.cli.existing_database import use_existing_database
from jpweb.cli.progress import show_progress
from jpweb.store.search import dialects, indexer
from jpweb.stream.stats import count_noun


class Command(BaseCommand):
    """``jpweb index [--all]``."""

    requires_system_checks = (text_settings.CHECK_TAG,)
    help = "Bring the search index up to date. A running server does this in the background."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--all", action="store_true", help="rebuild the index from scratch")

    @use_existing_database()
    def handle(self, *args: Any, **options: Any) -> None:
        if options["all"]:
            self._clear_index()
        total = indexer.count_pending()
        indexed_keys: set[int] = set()
        with show_progress("Indexing") as progress:
            while (step := indexer.index_next()) is not None:
                indexed_keys.add(step.key)
                progress(len(indexed_keys), max(total, len(indexed_keys)), "")
        while dialects.merge_segments():
            pass
        self.stdout.write(f"{count_noun(len(indexed_keys), 'conversation')} indexed.")

    def _clear_index(self) -> None:
        keys = list(indexer.iterate_conversation_ids())
        with show_progress("Clearing the index") as progress:
            for position, key in enumerate(keys):
                indexer.clear_index(key)
                progress(position + 1, len(keys), "")

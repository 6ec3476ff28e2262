"""Restore a backup into an empty database, PostgreSQL or SQLite."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jpweb import installation, text_settings
from jpweb.cli.data_folder_lock import lock_data_dir
from jpweb.cli.progress import show_progress
from jpweb.store.backups import restoration
from jpweb.store.errors import StoreError


class Command(BaseCommand):
    """``jpweb restore FILE [--force]``."""

    requires_system_checks = (text_settings.CHECK_TAG,)
    help = "Restore a backup into an empty data folder or database, while no jpweb runs there."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--force", action="store_true", help="delete what the database holds now"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        with closing(lock_data_dir()):
            try:
                with show_progress(f"Restoring {path}") as progress:
                    manifest = restoration.restore_backup(path, progress, replace=options["force"])
            except StoreError as error:
                raise CommandError(str(error)) from error
        self.stdout.write(
            f"Restored {manifest.rows} rows of the backup of {manifest.made_at}. Start jpweb with “"
            f"{installation.SERVE_COMMAND}”: unfinished turns resume, and search is indexed in "
            "the background."
        )

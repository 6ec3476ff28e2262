"""Write a backup of the database into a file, also while jpweb serves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.template.defaultfilters import filesizeformat

from jpweb.cli.progress import show_progress
from jpweb.store.backups import snapshot
from jpweb.store.errors import StoreError


class Command(BaseCommand):
    """``jpweb backup FILE [--force]``."""

    help = (
        "Write a backup: conversations, questions, people, unfinished turns. It contains "
        "notification addresses, but no keys, sign-ins or links; only you can read the file."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--force", action="store_true", help="overwrite FILE")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        if _is_taken(path) and not options["force"]:
            raise CommandError(
                f"{path} already exists. Choose another name, or overwrite it: --force"
            )
        try:
            with show_progress(f"Writing {path}") as progress:
                manifest = snapshot.write_backup(path, progress)
        except StoreError as error:
            raise CommandError(str(error)) from error
        size = filesizeformat(path.stat().st_size)
        self.stdout.write(f"Backup written to {path}: {manifest.rows} rows, {size}.")
        try:
            snapshot.record_backup(path.name)
        except StoreError as error:  # a full disk, which prevents that, spoils no backup
            self.stderr.write(f"The ledger has no entry of this backup: {error}")


def _is_taken(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # such as of a folder that is closed to this user; writing says why
        return False

"""Write a backup of the database into a file, also while jpweb serves."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.template.defaultfilters import filesizeformat

from jpweb import text_settings
from jpweb.cli.progress import show_progress
from jpweb.store.backups import snapshot
from jpweb.store.errors import StoreError


class Command(BaseCommand):
    """``jpweb backup FILE [--force]``."""

    requires_system_checks = (text_settings.CHECK_TAG,)
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
            with _end_by_exit(), show_progress(f"Writing {path}") as progress:
                manifest = snapshot.write_backup(path, progress)
        except StoreError as error:
            raise CommandError(str(error)) from error
        size = filesizeformat(path.stat().st_size)
        self.stdout.write(f"Backup written to {path}: {manifest.rows} rows, {size}.")
        try:
            snapshot.record_backup(path.name)
        except StoreError as error:  # a full disk, which prevents that, spoils no backup
            self.stderr.write(f"The ledger has no entry of this backup: {error}")


@contextmanager
def _end_by_exit() -> Iterator[None]:
    """Have SIGTERM raise SystemExit in the block, so that the unfinished file is removed."""

    def exit_program(signal_number: int, _frame: FrameType | None) -> None:
        sys.exit(128 + signal_number)  # as shells report it

    previous_handler = signal.signal(signal.SIGTERM, exit_program)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous_handler)


def _is_taken(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # such as of a folder that is closed to this user; writing says why
        return False

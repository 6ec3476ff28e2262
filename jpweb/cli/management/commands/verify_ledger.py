"""Verify the ledger: its chain, its signed head, and the journal that it speaks of."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from jpweb.cli.existing_database import use_existing_database
from jpweb.cli.progress import show_progress
from jpweb.evidence.ledger_verifier import Problem
from jpweb.store.errors import StoreError
from jpweb.store.ledger import kept_heads, sealing, signing, verification

if TYPE_CHECKING:
    from jpweb.store.models import LedgerHead

_DOUBT = (
    "Unless the secret key was changed or a backup restored, entries up to that one may be forged."
)


class Command(BaseCommand):
    """``jpweb verify_ledger [--heads FILE ...]``."""

    help = "Verify the ledger against its signed head and the heads that were kept in files."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--heads",
            type=Path,
            action="append",
            default=[],
            metavar="FILE",
            help="signed heads that were kept elsewhere, one a line; may be given several times",
        )

    @use_existing_database(is_any_key_accepted=True)
    def handle(self, *args: Any, **options: Any) -> None:
        problem_count = 0
        try:
            # Another key would seal its own change, and take the newest entries for forged.
            if signing.has_own_key(sealing.get_head()):
                sealing.seal_entries()
            head = sealing.get_head()
            with show_progress("Verifying the ledger") as progress:
                heads = _read_heads(options["heads"])
                for problem in verification.find_problems(heads, progress):
                    self.stdout.write(str(problem))
                    problem_count += 1
        except StoreError as error:
            raise CommandError(str(error)) from error
        self._write_key_changes(head)
        if problem_count:
            noun = "problem" if problem_count == 1 else "problems"
            raise CommandError(f"The ledger has {problem_count} {noun}.")
        self.stdout.write(
            f"No problems in {head.sequence} entries. Signed by the key {head.public_key}."
            if head.sequence
            else "The ledger is empty."
        )

    def _write_key_changes(self, head: LedgerHead) -> None:
        for sequence in verification.list_key_changes():
            self.stdout.write(f"entry {sequence} says that the signing key was changed. {_DOUBT}")
        if not signing.has_own_key(head):
            self.stdout.write(f"The head is signed with the key of another installation. {_DOUBT}")


def _read_heads(paths: list[Path]) -> Iterator[dict[str, Any] | Problem]:
    own_heads: Path = settings.LEDGER_HEADS
    existing = [own_heads] if own_heads.exists() else []
    return chain(
        *(kept_heads.read_heads(path) for path in existing),
        *(_read_other_heads(path) for path in paths),
    )


def _read_other_heads(path: Path) -> Iterator[dict[str, Any] | Problem]:
    """Yield as ``read_heads``. Raises StoreError for a file in which no line is a head."""
    lines = list(kept_heads.read_heads(path))
    if lines and all(isinstance(line, Problem) for line in lines):
        raise StoreError(f"{path} is no file of signed heads.")
    yield from lines

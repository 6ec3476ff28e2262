"""Verify the ledger: its chain, its signed head, and the events that it refers to."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from jpweb import text_settings
from jpweb.cli.existing_database import use_existing_database
from jpweb.cli.progress import show_progress
from jpweb.evidence.ledger_verifier import Problem, escape_line
from jpweb.store.errors import StoreError
from jpweb.store.ledger import kept_heads, sealing, signing, verification

if TYPE_CHECKING:
    from jpweb.store.models import LedgerHead

_DOUBT = (
    "Unless the secret key was changed or a backup restored, entries up to that one may be forged."
)


class Command(BaseCommand):
    """``jpweb verify_ledger [--head FILE ...] [--rebuild-tiles]``."""

    requires_system_checks = (text_settings.CHECK_TAG,)
    help = "Verify the ledger against its signed head and the heads that were kept in files."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--head",
            "--heads",
            dest="heads",
            type=Path,
            action="append",
            default=[],
            metavar="FILE",
            help="signed heads that were kept elsewhere, one per line; may be given several times",
        )
        parser.add_argument(
            "--rebuild-tiles",
            action="store_true",
            help="first make the stored hashes of the tree again, which evidence bundles need",
        )

    @use_existing_database(is_any_key_accepted=True)
    def handle(self, *args: Any, **options: Any) -> None:
        problem_count = 0
        kept_heads = _KeptHeads(settings.LEDGER_HEADS, options["heads"])
        try:
            # Another key would seal its own change, and take the newest entries for forged.
            if signing.has_own_key(sealing.get_head()):
                sealing.seal_entries()
            if options["rebuild_tiles"]:
                self.stdout.write(f"Stored hashes that differed: {sealing.rebuild_tiles()}.")
            head = sealing.get_head()
            with show_progress("Verifying the ledger") as progress:
                for problem in verification.find_problems(kept_heads.read_all(), progress):
                    self.stdout.write(escape_line(str(problem)))
                    problem_count += 1
        except StoreError as error:
            raise CommandError(str(error)) from error
        self._write_key_changes(head)
        if not problem_count:
            self.stdout.write(
                f"No problems in {head.sequence} {'entry' if head.sequence == 1 else 'entries'}. "
                f"Signed by the key {head.public_key}."
                if head.sequence
                else "The ledger is empty."
            )
        self.stdout.write(kept_heads.describe())
        if problem_count:
            noun = "problem" if problem_count == 1 else "problems"
            raise CommandError(f"The ledger has {problem_count} {noun}.")

    def _write_key_changes(self, head: LedgerHead) -> None:
        for sequence in verification.list_key_changes():
            self.stdout.write(f"entry {sequence} says that the signing key was changed. {_DOUBT}")
        if not signing.has_own_key(head):
            self.stdout.write(f"The head is signed with the key of another installation. {_DOUBT}")


class _KeptHeads:
    """The heads of the installation's file, which may be missing, and of others; counts them."""

    def __init__(self, own_path: Path, other_paths: list[Path]) -> None:
        self._own_path = own_path
        self._is_missing = _is_missing(own_path)
        self._other_paths = other_paths
        self._count = 0

    def read_all(self) -> Iterator[dict[str, Any] | Problem]:
        own_paths = [] if self._is_missing else [self._own_path]
        for line in chain(
            *(kept_heads.read_heads(path) for path in own_paths),
            *(_read_other_heads(path) for path in self._other_paths),
        ):
            self._count += not isinstance(line, Problem)
            yield line

    def describe(self) -> str:
        """Return how many heads the ledger was compared with; a wrong path compares none."""
        if not self._count:
            lack = "does not exist" if self._is_missing else "has none"
            return f"No kept heads were compared: {self._own_path} {lack}."
        noun = "head" if self._count == 1 else "heads"
        note = f"; {self._own_path} does not exist" if self._is_missing else ""
        return f"Compared with {self._count} kept {noun}{note}."


def _is_missing(path: Path) -> bool:
    """Tell whether there is no such file; of one that cannot be looked up, reading says why."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _read_other_heads(path: Path) -> Iterator[dict[str, Any] | Problem]:
    """Yield as ``read_heads``. Raises StoreError for a file without a head, also an empty one."""
    lines = list(kept_heads.read_heads(path))
    if all(isinstance(line, Problem) for line in lines):
        raise StoreError(f"{path} is not a file of signed heads.")
    yield from lines

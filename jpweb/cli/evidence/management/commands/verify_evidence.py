"""Verify an evidence bundle, as its own ``verify_bundle.py`` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jpweb import text_settings
from jpweb.evidence import bundle_verifier
from jpweb.evidence.ledger_verifier import UnreadableFile, escape_line


class Command(BaseCommand):
    """``jpweb verify_evidence FILE [--public-key HEX] [--head FILE]``."""

    requires_system_checks = (text_settings.CHECK_TAG,)
    help = "Verify an evidence bundle: its files, its signature, and its ledger entries."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--public-key", help="the key that has to have signed it")
        parser.add_argument(
            "--head",
            "--heads",
            type=Path,
            metavar="FILE",
            help="signed heads that were kept elsewhere, one per line",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        try:
            report = bundle_verifier.verify_bundle(path, options["public_key"])
            if options["head"] is not None:
                report = bundle_verifier.compare_heads(report, options["head"])
        except UnreadableFile as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
        for problem in report.problems:
            self.stdout.write(escape_line(str(problem)))
        if report.problems:
            noun = "problem" if len(report.problems) == 1 else "problems"
            raise CommandError(f"The bundle has {len(report.problems)} {noun}.")
        for line in bundle_verifier.describe_bundle(report):
            self.stdout.write(escape_line(line))
        if options["public_key"] is None:
            self.stdout.write(bundle_verifier.KEY_ADVICE)

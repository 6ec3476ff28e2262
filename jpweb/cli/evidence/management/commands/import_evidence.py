"""Import the conversations of an evidence bundle into a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jpweb import text_settings
from jpweb.cli.existing_database import use_existing_database
from jpweb.evidence import bundle_verifier
from jpweb.evidence.ledger_verifier import escape_line
from jpweb.store.errors import StoreError
from jpweb.store.evidence import importer
from jpweb.stream.stats import count_noun


class Command(BaseCommand):
    """``jpweb import_evidence FILE --workspace NAME``.

    Options: ``[--public-key HEX] [--conversation FOLDER]``.
    """

    requires_system_checks = (text_settings.CHECK_TAG,)
    help = "Import the conversations of a bundle that verifies; they are read-only."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--workspace", required=True, metavar="NAME")
        parser.add_argument("--public-key", help="the key that has to have signed it")
        parser.add_argument(
            "--conversation",
            dest="folders",
            action="append",
            default=[],
            metavar="FOLDER",
            help="import this conversation alone, such as jp-c123; may be given several times",
        )

    @use_existing_database()
    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        try:
            imported_bundle = importer.import_bundle(
                path, options["workspace"], options["public_key"], options["folders"]
            )
        except StoreError as error:
            raise CommandError(escape_line(str(error))) from error
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
        for line in bundle_verifier.describe_bundle(imported_bundle.report):
            self.stdout.write(escape_line(line))
        if options["public_key"] is None:
            self.stdout.write(bundle_verifier.KEY_ADVICE)
        counted_text = count_noun(len(imported_bundle.conversation_ids), "conversation")
        self.stdout.write(f"Imported into {options['workspace']}, read-only: {counted_text}.")

"""Write a conversation to a file or to standard output."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jpweb import text_settings
from jpweb.cli import standard_output
from jpweb.cli.existing_database import use_existing_database
from jpweb.runtime.exports import FORMATS
from jpweb.store import conversations
from jpweb.store.choices import Act
from jpweb.store.errors import ExportBroken, UnknownConversation
from jpweb.store.exports import ExportChunk
from jpweb.store.ledger.entries import OPERATOR, Place, record_act


class Command(BaseCommand):
    """``jpweb export CONVERSATION --format FORMAT [--comments] [--output FILE]``."""

    requires_system_checks = (text_settings.CHECK_TAG,)
    help = "Export a conversation; CONVERSATION is its id: 17728322628, jp-c17728322628, …"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("conversation")
        parser.add_argument("--format", choices=list(FORMATS), default="jp")
        parser.add_argument("--comments", action="store_true", help="with the comments")
        parser.add_argument("--output", type=Path, metavar="FILE", help="default: standard output")

    @use_existing_database()
    def handle(self, *args: Any, **options: Any) -> None:
        try:
            conversation = conversations.find_by_jp_id(options["conversation"])
        except UnknownConversation as lookup_error:
            raise CommandError(str(lookup_error)) from lookup_error
        export_format = FORMATS[options["format"]]
        make_pieces = (
            export_format.make_commented_pieces
            if options["comments"]
            else export_format.make_pieces
        )
        if make_pieces is None:
            raise CommandError("Only the formats markdown and html can have the comments.")
        place = Place(conversation.workspace_id, conversation.pk)
        details = {"comments": "included"} if options["comments"] else {}
        record = partial(
            record_act, Act.EXPORTED, OPERATOR, place, format=options["format"], **details
        )
        pieces = make_pieces(conversation)
        target: Path | None = options["output"]
        if target is None:
            record()
            _write_pieces(standard_output.write_bytes, pieces)
            return
        try:
            with target.open("wb") as file:
                record()  # before the first byte, and only where there can be one
                size = _write_pieces(file.write, pieces)
        except OSError as error:
            raise CommandError(f"{target} cannot be written: {error.strerror}.") from error
        self.stderr.write(f"{target}: {size} bytes")


def _write_pieces(write: Callable[[bytes], int], pieces: Iterable[ExportChunk]) -> int:
    """Write the pieces and return the bytes. Raises CommandError where the export breaks off."""
    try:
        return sum(write(piece.data) for piece in pieces)
    except ExportBroken as error:
        raise CommandError(f"{error} The file is incomplete: export it again.") from error

"""Write a conversation to a file or to standard output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jpweb.runtime.exports import FORMATS
from jpweb.store import conversations
from jpweb.store.errors import UnknownConversation


class Command(BaseCommand):
    """``jpweb export CONVERSATION --format jp|jsonl|markdown|html [--output FILE]``."""

    help = "Export a conversation; CONVERSATION is its id: 17728322628, jp-c17728322628, …"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("conversation")
        parser.add_argument("--format", choices=list(FORMATS), default="jp")
        parser.add_argument("--output", type=Path, metavar="FILE", help="default: standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            conversation = conversations.by_jp_id(options["conversation"])
        except UnknownConversation as problem:
            raise CommandError(str(problem)) from problem
        data = FORMATS[options["format"]].make(conversation)
        target: Path | None = options["output"]
        if target is None:
            sys.stdout.buffer.write(data)
            return
        try:
            target.write_bytes(data)
        except OSError as error:
            raise CommandError(f"{target} cannot be written: {error.strerror}.") from error
        self.stderr.write(f"{target}: {len(data)} bytes")

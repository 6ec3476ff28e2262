"""Say what is in a stream's file, without importing it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jpweb.stream import wire
from jpweb.stream.census import census
from jpweb.stream.errors import NotAStream
from jpweb.stream.repair import repair


class Command(BaseCommand):
    """``jpweb check_stream FILE [--json]``."""

    help = "Count the events in FILE, check that it round-trips byte for byte, list needed repairs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="an events.json or a messages.json")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        try:
            found = _checked(path.read_bytes())
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
        except NotAStream as problem:
            raise CommandError(f"{path} is not an event stream: {problem}.") from problem
        if options["json"]:
            self.stdout.write(json.dumps({"file": str(path)} | found, indent=2, ensure_ascii=False))
        else:
            self._print(found)

    def _print(self, found: dict[str, Any]) -> None:
        kinds = ", ".join(f"{n} {kind}" for kind, n in found["kinds"].items())
        states = ", ".join(f"{n} {state}" for state, n in found["inquiries"].items()) or "none"
        self.stdout.write(f"elements: {found['elements']} ({kinds or 'none'})")
        self.stdout.write(f"turns: {found['turns']}")
        self.stdout.write(f"inquiries: {states}")
        self.stdout.write(f"unknown: {found['unknown']}; broken: {found['broken']}")
        self.stdout.write(f"byte for byte: {'yes' if found['faithful'] else 'no'}")
        for title, key in (
            ("repairs", "repair"),
            ("unreadable for jp before RFD 082", "obstacles"),
        ):
            self.stdout.write(f"{title}: {len(found[key]) or 'none'}")
            for line in found[key]:
                where = "file" if line["position"] is None else f"#{line['position']}"
                self.stdout.write(f"  {where} {line['what']}")


def _checked(data: bytes) -> dict[str, Any]:
    texts, framing = wire.split_framed(data)
    elements = [wire.read(text) for text in texts]
    return census(elements).to_json() | {
        "faithful": wire.join(texts, framing).encode() == data,
        "repair": [
            {"step": change.step, "position": change.position, "what": change.what}
            for change in repair(elements).changes
        ],
        "obstacles": [
            {
                "position": found.position,
                "what": f"{found.tag} cannot be opened: {found.why}".strip(),
            }
            for found in wire.obstacles(elements, framing)
        ],
    }

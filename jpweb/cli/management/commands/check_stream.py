"""Report the contents of a stream's file, without importing it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jpweb import text_settings
from jpweb.evidence.ledger_verifier import escape_line
from jpweb.stream import wire
from jpweb.stream.errors import MalformedStream
from jpweb.stream.sanitize import sanitize_stream
from jpweb.stream.stats import count_stream


class Command(BaseCommand):
    """``jpweb check_stream FILE [--json]``."""

    requires_system_checks = (text_settings.CHECK_TAG,)
    help = "Count the events in FILE, check that it round-trips byte for byte, list needed repairs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="an events.json or a messages.json")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        try:
            report = _build_report(path.read_bytes())
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
        except MalformedStream as stream_error:
            raise CommandError(f"{path} is not an event stream: {stream_error}.") from stream_error
        if options["json"]:
            self.stdout.write(
                json.dumps({"file": str(path)} | report, indent=2, ensure_ascii=False)
            )
        else:
            self._print_report(report)

    def _print_report(self, report: dict[str, Any]) -> None:
        kinds = ", ".join(f"{count} {kind}" for kind, count in report["kinds"].items())
        states = (
            ", ".join(f"{count} {state}" for state, count in report["inquiries"].items()) or "none"
        )
        self.stdout.write(escape_line(f"elements: {report['elements']} ({kinds or 'none'})"))
        self.stdout.write(f"turns: {report['turns']}")
        self.stdout.write(f"questions: {states}")
        self.stdout.write(f"unknown: {report['unknown']}; broken: {report['broken']}")
        self.stdout.write(f"byte for byte: {'yes' if report['faithful'] else 'no'}")
        for title, key in (
            ("repairs", "repair"),
            ("unreadable for jp before RFD 082", "obstacles"),
        ):
            self.stdout.write(f"{title}: {len(report[key]) or 'none'}")
            for line in report[key]:
                where = "file" if line["position"] is None else f"#{line['position']}"
                self.stdout.write(f"  {where} {escape_line(line['what'])}")


def _build_report(data: bytes) -> dict[str, Any]:
    texts, framing = wire.split_with_framing(data)
    elements = [wire.read_element(text) for text in texts]
    return count_stream(elements).to_json() | {
        "faithful": wire.join_array(texts, framing).encode() == data,
        "repair": [
            {"step": change.step, "position": change.position, "what": change.description}
            for change in sanitize_stream(elements).changes
        ],
        "obstacles": [
            {
                "position": obstacle.position,
                "what": f"{obstacle.tag} cannot be opened: {obstacle.reason}".strip(),
            }
            for obstacle in wire.find_incompatibilities(elements, framing)
        ],
    }

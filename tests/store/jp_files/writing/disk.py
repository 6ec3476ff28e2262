"""A silo and a workspace on disk, and the conversation that the tests write into them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jpweb.store.jp_files import locks, writer
from jpweb.store.jp_files.writer import ConversationFiles
from jpweb.stream import wire
from jpweb.stream.events import ChatRequest, ChatResponse, TurnStart
from tests.builders import stream
from tests.store.jp_files.writing.killed import DS

OLD, NEW = "Digging", "Sowing, mostly"
FOLDER, RENAMED = f"{DS}-digging", f"{DS}-sowing--mostly"
AT = "2026-01-02 03:04:05.123456789"
TEXTS = [e.raw for e in stream(TurnStart(), ChatRequest("Hi."), ChatResponse("message", "Hello."))]
SHORT, LONG = (wire.join_array(TEXTS[:count]).encode() for count in (2, 3))
FOREIGN = SHORT.replace(b"Hi.", b"Ha!")
EMPTY = b"[]\n"


class WriterDisk:
    """A silo and a project's ``.jp`` in an empty folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.silo, self.project = (
            root / home / "conversations" for home in ("silo", "project/.jp")
        )
        self.homes = [self.silo, self.project]
        for home in self.homes:
            home.parent.mkdir(parents=True)

    def write(
        self,
        events: bytes = SHORT,
        expected: bytes | None = None,
        title: str | None = OLD,
        **fields: Any,
    ) -> writer.WriteResult:
        base_config = fields.pop("base_config", None)
        homes = fields.pop("homes", self.homes)
        about = {"title": title, "last_activated_at": AT} | fields
        with locks.hold_lock(self.silo.parent, self.project.parent, DS) as lock:
            files = ConversationFiles(about, events, base_config)
            return writer.write_conversation(lock, homes, files, expected)

    def holds(self) -> dict[str, bytes]:
        return read_files(self.root)

    def metadata(self) -> Any:
        return json.loads(next(self.silo.glob(f"{DS}*/metadata.json")).read_bytes())


def read_files(root: Path) -> dict[str, bytes]:
    """Return every file below; locks aside, whose folder stays."""
    paths = (path for path in root.rglob("*") if path.is_file() and path.parent.name != "locks")
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}

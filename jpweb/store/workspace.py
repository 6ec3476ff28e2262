"""JP's files, read and never written (jp-storage-format, sections 1, 2 and 4)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from jpweb.store.errors import NoWorkspace
from jpweb.stream import timestamps

_ID = re.compile(r"[0-9a-z]{5}", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class FoundWorkspace:
    """A folder with a ``.jp`` inside."""

    root: Path
    jp_id: str


@dataclass(frozen=True, slots=True)
class FoundConversation:
    """A conversation's folder. ``fingerprint`` changes when its files may have."""

    folder: Path
    jp_id: int
    archived: bool
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Metadata:
    """``metadata.json``; ``problem`` says in one line why it could not be used."""

    title: str = ""
    last_activated_at: datetime | None = None
    pinned_at: datetime | None = None
    labels: dict[str, str] = field(default_factory=dict)
    problem: str = ""


def find(path: Path) -> FoundWorkspace:
    """Walk up from ``path`` to the first folder that holds ``.jp``. Raises NoWorkspace."""
    start = path.expanduser().absolute()
    try:
        for folder in (start, *start.parents):
            if (folder / ".jp").is_dir():
                root = folder.resolve()
                return FoundWorkspace(root, _workspace_id(root))
    except OSError as error:
        raise NoWorkspace(f"{error.filename}: {error.strerror}") from error
    raise NoWorkspace(
        f"No JP workspace at {start}: neither it nor a folder above it holds “.jp”. "
        "Give the path of a repository in which jp was used."
    )


def conversations(workspace: FoundWorkspace) -> Iterator[FoundConversation]:
    """Yield the conversations, archived ones too. Raises NoWorkspace for an unreadable folder."""
    home = workspace.root / ".jp" / "conversations"
    for parent, archived in ((home, False), (home / ".archive", True)):
        if not parent.is_dir():
            continue
        try:
            folders = sorted(parent.iterdir())
        except OSError as error:
            raise NoWorkspace(f"{parent} cannot be read: {error.strerror}") from error
        for folder in folders:
            head = folder.name.partition("-")[0]
            if head.isascii() and head.isdigit() and folder.is_dir():
                yield FoundConversation(folder, int(head), archived, _fingerprint(folder))


def metadata(found: FoundConversation) -> Metadata:
    """Read ``metadata.json``. Never fails."""
    try:
        value = json.loads((found.folder / "metadata.json").read_bytes())
    except OSError as error:
        return Metadata(problem=f"metadata.json: {error.strerror}")
    except (ValueError, RecursionError) as error:
        return Metadata(problem=f"metadata.json is not JSON: {error}"[:300])
    if not isinstance(value, dict):
        return Metadata(problem="metadata.json is not an object")
    labels = value.get("labels")
    return Metadata(
        title=value["title"] if isinstance(value.get("title"), str) else "",
        last_activated_at=_instant(value.get("last_activated_at")),
        pinned_at=_instant(value.get("pinned_at")),
        labels={str(k): str(v) for k, v in labels.items()} if isinstance(labels, dict) else {},
    )


def events(found: FoundConversation) -> bytes:
    """Return ``events.json`` as it is. Raises OSError."""
    return (found.folder / "events.json").read_bytes()


def created_at(jp_id: int) -> datetime:
    """Return the instant that a conversation's id stands for, clamped to what Python can hold."""
    try:
        return _EPOCH + timedelta(milliseconds=jp_id * 100)
    except OverflowError:
        return _EPOCH


def jp_id_at(moment: datetime) -> int:
    """Return the id of a conversation that begins at ``moment``: deciseconds, cut."""
    return int((moment - _EPOCH) / timedelta(milliseconds=100))


def _instant(value: Any) -> datetime | None:
    return timestamps.parse(value) if isinstance(value, str) else None


def _fingerprint(folder: Path) -> str:
    parts = []
    for name in ("metadata.json", "events.json"):
        try:
            seen = (folder / name).stat()
            parts.append(f"{seen.st_size}.{seen.st_mtime_ns}.{seen.st_ino}")
        except OSError:
            parts.append("none")
    return "/".join(parts)


def _workspace_id(root: Path) -> str:
    """Return the id in ``.id``; JP would write a new one where it is missing, a reader must not."""
    try:
        lines = (root / ".jp" / ".id").read_text().split()
    except (OSError, UnicodeDecodeError):
        lines = []
    if lines and _ID.fullmatch(lines[-1]):
        return lines[-1]
    return "~" + hashlib.sha256(str(root).encode()).hexdigest()[:8]

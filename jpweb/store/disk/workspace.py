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

from jpweb.store.disk import silo
from jpweb.store.errors import NoWorkspace
from jpweb.stream import timestamps

_ID = re.compile(r"[0-9a-z]{5}", re.ASCII)
#: An id that fits a database's largest integer.
_DECISECONDS = re.compile(r"\d{1,18}", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class FoundWorkspace:
    """A folder with a ``.jp`` inside, and the silo that holds its user's copies."""

    root: Path
    jp_id: str
    silo: Path | None = None

    @property
    def homes(self) -> list[Path]:
        """The folders that hold conversations, the silo's first."""
        homes = [self.root / ".jp" / "conversations"]
        return homes if self.silo is None else [self.silo / "conversations", *homes]


@dataclass(frozen=True, slots=True)
class FoundConversation:
    """A conversation's folders: ``folder`` has its events, ``about`` its metadata.

    They differ where workspace and silo hold copies of which one unit is newer here and the
    other there. ``fingerprint`` changes when the files may have.
    """

    folder: Path
    about: Path
    jp_id: int
    archived: bool
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Metadata:
    """``metadata.json``; ``problem`` says in one line why it could not be used."""

    title: str = ""
    last_activated_at: datetime | None = None
    pinned_at: datetime | None = None
    expires_at: datetime | None = None
    labels: dict[str, str] = field(default_factory=dict)
    problem: str = ""


def find(path: Path) -> FoundWorkspace:
    """Walk up from ``path`` to the first folder that holds ``.jp``. Raises NoWorkspace."""
    start = path.expanduser().absolute()
    try:
        for folder in (start, *start.parents):
            if (folder / ".jp").is_dir():
                root = folder.resolve()
                jp_id = _workspace_id(root)
                return FoundWorkspace(root, jp_id, silo.find(root, jp_id))
    except OSError as error:
        raise NoWorkspace(f"{error.filename}: {error.strerror}") from error
    raise NoWorkspace(
        f"No JP workspace at {start}: neither it nor a folder above it holds “.jp”. "
        "Give the path of a repository in which jp was used."
    )


def conversations(workspace: FoundWorkspace) -> Iterator[FoundConversation]:
    """Yield the conversations of both roots by id, archived ones too.

    Of two copies the newer one counts, for the metadata and for the stream each; a tie goes to
    the silo. Raises NoWorkspace for an unreadable folder.
    """
    live = _copies(workspace.homes)
    archived = _copies([home / ".archive" for home in reversed(workspace.homes)])
    for jp_id, folders in sorted(live.items()):
        yield _found(jp_id, folders, archived=False)
    for jp_id, folders in sorted(archived.items()):
        if jp_id not in live:
            yield _found(jp_id, folders[:1], archived=True)


def conversation(workspace: FoundWorkspace, jp_id: int) -> FoundConversation | None:
    """Return one conversation as ``conversations`` does, None where there is none of this id."""
    live = _copies(workspace.homes, jp_id)
    if live:
        return _found(jp_id, live[jp_id], archived=False)
    archived = _copies([home / ".archive" for home in reversed(workspace.homes)], jp_id)
    return _found(jp_id, archived[jp_id][:1], archived=True) if archived else None


def metadata(found: FoundConversation) -> Metadata:
    """Read ``metadata.json``. Never fails."""
    try:
        value = json.loads((found.about / "metadata.json").read_bytes())
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
        expires_at=_instant(value.get("expires_at")),
        labels={str(k): str(v) for k, v in labels.items()} if isinstance(labels, dict) else {},
    )


def events(found: FoundConversation) -> bytes:
    """Return the file of the stream as it is. Raises OSError."""
    return stream_file(found.folder).read_bytes()


def stream_file(folder: Path) -> Path:
    """Return ``events.json``, or ``messages.json`` where only that older file is there."""
    older = folder / "messages.json"
    current = folder / "events.json"
    return older if older.is_file() and not current.exists() else current


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


def _copies(homes: list[Path], only: int | None = None) -> dict[int, list[Path]]:
    """Return the folders of each conversation, or of one, one a home, in the order of the homes."""
    found: dict[int, list[Path]] = {}
    for home in homes:
        if not home.is_dir():
            continue
        try:
            entries = sorted(home.iterdir())
        except OSError as error:
            raise NoWorkspace(f"{home} cannot be read: {error.strerror}") from error
        for folder in entries:
            head = folder.name.partition("-")[0]
            if not _DECISECONDS.fullmatch(head) or only not in (None, int(head)):
                continue
            if not folder.is_dir():
                continue
            folders = found.setdefault(int(head), [])
            if not any(known.parent == home for known in folders):
                folders.append(folder)
    return found


def _found(jp_id: int, folders: list[Path], *, archived: bool) -> FoundConversation:
    # max() keeps the first of equals, and the silo comes first.
    stream = max(folders, key=lambda f: _changed(f, stream_file(f).name, "base_config.json"))
    about = max(folders, key=lambda f: _changed(f, "metadata.json"))
    seen = (about / "metadata.json", stream_file(stream))
    fingerprint = "/".join(_fingerprint(path) for path in seen)
    return FoundConversation(stream, about, jp_id, archived, fingerprint)


def _changed(folder: Path, *names: str) -> int:
    """Return when one of the files changed last, in nanoseconds; -1 where there is none."""
    return max(_mtime(folder / name) for name in names)


def _mtime(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return -1


def _fingerprint(path: Path) -> str:
    try:
        seen = path.stat()
    except OSError:
        return "none"
    return f"{seen.st_size}.{seen.st_mtime_ns}.{seen.st_ino}"


def _workspace_id(root: Path) -> str:
    """Return the id in ``.id``; JP would write a new one where it is missing, a reader must not."""
    try:
        lines = (root / ".jp" / ".id").read_text().split()
    except (OSError, UnicodeDecodeError):
        lines = []
    if lines and _ID.fullmatch(lines[-1]):
        return lines[-1]
    return "~" + hashlib.sha256(str(root).encode()).hexdigest()[:8]

"""JP's files, read and never written (jp-storage-format, sections 1, 2 and 4)."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from jpweb.store.disk import directory, silo
from jpweb.store.disk.directory import Directory, Refused
from jpweb.store.errors import NoWorkspace
from jpweb.stream import timestamps

_ID = re.compile(r"[0-9a-z]{5}", re.ASCII)
#: An id that fits a database's largest integer.
_DECISECONDS = re.compile(r"\d{1,18}", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STREAM_NAMES = ("events.json", "messages.json")
_NAMES = (*_STREAM_NAMES, "metadata.json", "base_config.json")


@dataclass(frozen=True, slots=True)
class FoundWorkspace:
    """A folder with a ``.jp`` inside, and the silo that holds its user's copies.

    ``claimed`` is a silo of this id that is not bound to this root, so that nothing in it counts.
    ``notes`` say in a line each which entries were refused.
    """

    root: Path
    jp_id: str
    silo: Path | None = None
    claimed: Path | None = None
    notes: tuple[str, ...] = ()

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


def find(path: Path, bound_id: str = "") -> FoundWorkspace:
    """Walk up from ``path`` to the first folder that holds ``.jp``. Raises NoWorkspace.

    The silo counts where ``bound_id`` is the workspace's id: any ``.id`` may claim another's.
    """
    try:
        start = directory.resolve(path)
        for root in (start, *start.parents):
            if _has_jp(root):
                jp_id, notes = _workspace_id(root)
                copies = silo.find(root, jp_id)
                if jp_id == bound_id:
                    return FoundWorkspace(root, jp_id, silo=copies, notes=notes)
                return FoundWorkspace(root, jp_id, claimed=copies, notes=notes)
    except OSError as error:
        raise NoWorkspace(f"{error.filename}: {error.strerror}") from error
    raise NoWorkspace(
        f"No JP workspace at {start}: neither it nor a folder above it holds “.jp”. "
        "Give the path of a repository in which jp was used."
    )


def conversations(
    workspace: FoundWorkspace, refused: list[str] | None = None
) -> Iterator[FoundConversation]:
    """Yield the conversations of both roots by id, archived ones too.

    Of two copies the newer one counts, for the metadata and for the stream each; a tie goes to
    the silo. Entries that are refused are added to ``refused``, a line each. Raises NoWorkspace
    for an unreadable folder.
    """
    refused = [] if refused is None else refused
    live = _copies(workspace.homes, refused)
    archived = _copies([home / ".archive" for home in reversed(workspace.homes)], refused)
    for jp_id, copies in sorted(live.items()):
        yield _found(jp_id, copies, archived=False)
    for jp_id, copies in sorted(archived.items()):
        if jp_id not in live:
            yield _found(jp_id, copies[:1], archived=True)


def conversation(workspace: FoundWorkspace, jp_id: int) -> FoundConversation | None:
    """Return one conversation as ``conversations`` does, None where there is none of this id."""
    live = _copies(workspace.homes, [], jp_id)
    if live:
        return _found(jp_id, live[jp_id], archived=False)
    archived = _copies([home / ".archive" for home in reversed(workspace.homes)], [], jp_id)
    return _found(jp_id, archived[jp_id][:1], archived=True) if archived else None


def folders(workspace: FoundWorkspace) -> list[Path]:
    """Return the folders in which the files of conversations change, links left out."""
    places: list[Path] = []
    for home in workspace.homes:
        for place in (home, home / ".archive"):
            try:
                entries = directory.list_entries(place)
            except OSError:
                continue
            places.append(place)
            places += (place / entry.name for entry in entries if _names_conversation(entry))
    return places


def metadata(found: FoundConversation) -> Metadata:
    """Read ``metadata.json``. Never fails."""
    try:
        value = json.loads(
            directory.read(found.about / "metadata.json", directory.MAX_METADATA_BYTES)
        )
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
    return directory.read(stream_file(found.folder), directory.MAX_STREAM_BYTES)


def stream_file(folder: Path) -> Path:
    """Return ``events.json``, or ``messages.json`` where only that older file is there."""
    try:
        with Directory.at(folder) as place:
            return folder / _stream_name(_seen(place, _STREAM_NAMES))
    except OSError:
        return folder / _STREAM_NAMES[0]


def stream_size(found: FoundConversation) -> int:
    """Return the bytes of the stream's file, 0 where it is not there or refused."""
    try:
        seen = directory.look_at(stream_file(found.folder))
    except OSError:
        return 0
    return seen.st_size if seen and seen.st_size <= directory.MAX_STREAM_BYTES else 0


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


@dataclass(frozen=True, slots=True)
class _Copy:
    """One home's folder of a conversation, and what its files are, links as links."""

    folder: Path
    seen: Mapping[str, os.stat_result]

    def changed(self, *names: str) -> int:
        """Return when one of the files changed last, in nanoseconds; -1 where there is none."""
        return max(self.seen[name].st_mtime_ns if name in self.seen else -1 for name in names)

    def fingerprint(self, name: str) -> str:
        seen = self.seen.get(name)
        return f"{seen.st_size}.{seen.st_mtime_ns}.{seen.st_ino}" if seen else "none"


def _copies(
    homes: list[Path], refused: list[str], only: int | None = None
) -> dict[int, list[_Copy]]:
    """Return the folders of each conversation, or of one, one a home, in the order of the homes."""
    found: dict[int, list[_Copy]] = {}
    for home in homes:
        try:
            with Directory.at(home) as place:
                for jp_id, copy in _conversations_in(place, refused, only):
                    copies = found.setdefault(jp_id, [])
                    if not any(known.folder.parent == home for known in copies):
                        copies.append(copy)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except Refused as error:
            if home.name != ".archive":
                raise NoWorkspace(f"{home} cannot be read: {error.strerror}") from error
            refused.append(f"{home.name}: {error.strerror}")
        except OSError as error:
            raise NoWorkspace(f"{home} cannot be read: {error.strerror}") from error
    return found


def _conversations_in(
    home: Directory, refused: list[str], only: int | None
) -> Iterator[tuple[int, _Copy]]:
    for entry in home.list_entries():
        jp_id = _jp_id(entry.name)
        if jp_id is None or only not in (None, jp_id):
            continue
        try:
            with home.enter(entry.name) as folder:
                yield jp_id, _Copy(folder.path, _seen(folder, _NAMES))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            refused.append(f"{entry.name}: {error.strerror}")


def _found(jp_id: int, copies: list[_Copy], *, archived: bool) -> FoundConversation:
    # max() keeps the first of equals, and the silo comes first.
    stream = max(copies, key=lambda c: c.changed(_stream_name(c.seen), "base_config.json"))
    about = max(copies, key=lambda c: c.changed("metadata.json"))
    fingerprint = f"{about.fingerprint('metadata.json')}/{_stream_print(stream)}"
    return FoundConversation(stream.folder, about.folder, jp_id, archived, fingerprint)


def _stream_print(copy: _Copy) -> str:
    return copy.fingerprint(_stream_name(copy.seen))


def _seen(folder: Directory, names: tuple[str, ...]) -> dict[str, os.stat_result]:
    return {name: seen for name in names if (seen := folder.stat(name)) is not None}


def _stream_name(seen: Mapping[str, os.stat_result]) -> str:
    current, older = _STREAM_NAMES
    return older if older in seen and current not in seen else current


def _jp_id(name: str) -> int | None:
    head = name.partition("-")[0]
    return int(head) if _DECISECONDS.fullmatch(head) else None


def _names_conversation(entry: os.DirEntry[str]) -> bool:
    return _jp_id(entry.name) is not None and entry.is_dir(follow_symlinks=False)


def _has_jp(root: Path) -> bool:
    """Tell whether a folder has a ``.jp``. Raises Refused where that is a link, OSError."""
    try:
        with Directory.at(root) as place, place.enter(".jp"):
            return True
    except (FileNotFoundError, NotADirectoryError):
        return False


def _workspace_id(root: Path) -> tuple[str, tuple[str, ...]]:
    """Return the id in ``.id``, and a note where the file is refused.

    JP would write a new one where it is missing, a reader must not.
    """
    notes: tuple[str, ...] = ()
    try:
        lines = directory.read(root / ".jp" / ".id", directory.MAX_ID_BYTES).decode().split()
    except Refused as error:
        lines, notes = [], (f".jp/.id: {error.strerror}",)
    except (OSError, UnicodeDecodeError):
        lines = []
    if lines and _ID.fullmatch(lines[-1]):
        return lines[-1], notes
    return "~" + hashlib.sha256(str(root).encode()).hexdigest()[:8], notes

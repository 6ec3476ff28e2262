"""JP's files on disk, read and never written (docs/jp-format.md, Folder names, Metadata)."""

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

from jpweb import installation
from jpweb.store.errors import NoWorkspace
from jpweb.store.jp_files import directory_handles, silo
from jpweb.store.jp_files.directory_handles import MIB, Directory, EntryRefused
from jpweb.stream import timestamps

#: Bytes of events.json at most; 100,000 events take about 74 MB.
MAX_STREAM_BYTES = 256 * MIB
#: Bytes of metadata.json and base_config.json at most; the largest known of the latter has 300 KiB.
MAX_METADATA_BYTES, MAX_BASE_CONFIG_BYTES = MIB, 16 * MIB
#: Bytes of ``.id`` at most; JP writes 57.
_MAX_ID_BYTES = 4096
_WORKSPACE_ID = re.compile(r"[0-9a-z]{5}", re.ASCII)
#: A conversation's id in deciseconds, of at most 18 digits: it fits a 64-bit integer.
_DECISECONDS = re.compile(r"\d{1,18}", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STREAM_NAMES = ("events.json", "messages.json")
#: Fingerprint of a missing file.
_MISSING = "none"
_FILE_NAMES = (*_STREAM_NAMES, "metadata.json", "base_config.json")


@dataclass(frozen=True, slots=True)
class DiskWorkspace:
    """A folder with a ``.jp`` inside, and the silo that holds its user's copies.

    ``unbound_silo`` is a silo of this id that is not bound to this root, so that its copies
    do not count. ``notes`` have a line for each refused entry.
    """

    root: Path
    jp_id: str
    silo: Path | None = None
    unbound_silo: Path | None = None
    notes: tuple[str, ...] = ()

    @property
    def conversation_folders(self) -> list[Path]:
        """The folders that hold conversations, the silo's first."""
        folders_by_root = [self.root / ".jp" / "conversations"]
        return (
            folders_by_root
            if self.silo is None
            else [self.silo / "conversations", *folders_by_root]
        )


@dataclass(frozen=True, slots=True)
class DiskConversation:
    """A conversation's folders: ``folder`` has its events, ``metadata_folder`` its metadata.

    They differ where workspace and silo hold copies and the events of one are newer and the
    metadata of the other. ``fingerprint`` changes when the files may have.
    """

    folder: Path
    metadata_folder: Path
    jp_id: int
    is_archived: bool
    fingerprint: str


@dataclass(frozen=True, slots=True)
class ConversationMetadata:
    """``metadata.json``; ``problem`` says in one line why it could not be used.

    With ``has_transient_error`` it may be readable later, although the file stays the same.
    """

    title: str = ""
    last_activated_at: datetime | None = None
    pinned_at: datetime | None = None
    expires_at: datetime | None = None
    labels: dict[str, str] = field(default_factory=dict)
    problem: str = ""
    has_transient_error: bool = False


@dataclass(slots=True)
class Refusals:
    """Entries that could not be read: a line for each, and the ids of the conversations."""

    lines: list[str] = field(default_factory=list)
    jp_ids: set[int] = field(default_factory=set)
    #: Whether a folder of archived conversations, and the user-local copies, are among them.
    has_archive: bool = False
    has_silo: bool = False


def find_workspace(path: Path, bound_id: str = "") -> DiskWorkspace:
    """Walk up from ``path`` to the first folder that holds ``.jp``. Raises NoWorkspace.

    The silo counts where ``bound_id`` is the workspace's id: any ``.id`` may claim
    another's.
    """
    try:
        start = installation.resolve_path(path)
        for root in (start, *start.parents):
            if _has_jp_folder(root):
                jp_id, notes = _read_workspace_id(root)
                silo_path = silo.find_silo(root, jp_id)
                if jp_id == bound_id:
                    return DiskWorkspace(root, jp_id, silo=silo_path, notes=notes)
                return DiskWorkspace(root, jp_id, unbound_silo=silo_path, notes=notes)
    except OSError as error:
        raise NoWorkspace(f"{error.filename}: {error.strerror}") from error
    raise NoWorkspace(
        f"No JP workspace at {start}: neither it nor a folder above it holds “.jp”. "
        "Give the path of a repository where jp has been used."
    )


def find_workspace_at(root: Path, bound_id: str = "") -> DiskWorkspace:
    """As ``find_workspace``, for a known root. Raises NoWorkspace where it is none any more.

    Without its ``.jp``, a folder inside of another workspace would be taken for that one.
    """
    disk_workspace = find_workspace(root, bound_id)
    if disk_workspace.root != root:
        raise NoWorkspace(
            f"{root} is no longer a JP workspace: the next “.jp” is in {disk_workspace.root}. "
            "Bring its “.jp” back, or add that folder as a workspace of its own."
        )
    return disk_workspace


def iterate_conversations(
    disk_workspace: DiskWorkspace, refusals: Refusals | None = None
) -> Iterator[DiskConversation]:
    """Yield the conversations of both roots by id, archived ones too.

    Of two copies the newer one counts, for the metadata and for the stream each; a tie goes
    to the silo. Refused entries are added to ``refusals``. Raises NoWorkspace for an
    unreadable folder.
    """
    refusals = Refusals() if refusals is None else refusals
    active_copies = _find_copies(disk_workspace.conversation_folders, refusals)
    archived_copies = _find_copies(
        [folder / ".archive" for folder in reversed(disk_workspace.conversation_folders)], refusals
    )
    for jp_id, copies in sorted(active_copies.items()):
        yield _choose_copies(jp_id, copies, is_archived=False)
    for jp_id, copies in sorted(archived_copies.items()):
        if jp_id not in active_copies:
            yield _choose_copies(jp_id, copies[:1], is_archived=True)


def find_conversation(disk_workspace: DiskWorkspace, jp_id: int) -> DiskConversation | None:
    """Return one conversation as ``iterate_conversations`` does, None for an unknown id.

    Raises NoWorkspace also where its folder, or the one that may hold it, is refused.
    """
    refusals = Refusals()
    active_copies = _find_copies(disk_workspace.conversation_folders, refusals, jp_id)
    if active_copies:
        return _choose_copies(jp_id, active_copies[jp_id], is_archived=False)
    archived_copies = _find_copies(
        [folder / ".archive" for folder in reversed(disk_workspace.conversation_folders)],
        refusals,
        jp_id,
    )
    if archived_copies:
        return _choose_copies(jp_id, archived_copies[jp_id][:1], is_archived=True)
    if refusals.lines:
        raise NoWorkspace(f"The conversation can't be read. {refusals.lines[0]}.")
    return None


def list_folders(disk_workspace: DiskWorkspace) -> list[Path]:
    """Return the folders in which the files of conversations change, links left out."""
    folders: list[Path] = []
    for parent in disk_workspace.conversation_folders:
        for folder in (parent, parent / ".archive"):
            try:
                entries = directory_handles.list_entries(folder)
            except OSError:
                continue
            folders.append(folder)
            folders += (folder / entry.name for entry in entries if _is_conversation_folder(entry))
    return folders


def read_metadata(disk_conversation: DiskConversation) -> ConversationMetadata:
    """Read ``metadata.json``. Never fails."""
    try:
        value = json.loads(
            directory_handles.read_file(
                disk_conversation.metadata_folder / "metadata.json", MAX_METADATA_BYTES
            )
        )
    except OSError as error:
        metadata_fingerprint, _ = split_fingerprint(disk_conversation.fingerprint)
        return ConversationMetadata(
            problem=f"metadata.json: {error.strerror}",
            has_transient_error=is_transient(error, metadata_fingerprint),
        )
    except (ValueError, RecursionError) as error:
        return ConversationMetadata(problem=f"metadata.json is not JSON: {error}"[:300])
    if not isinstance(value, dict):
        return ConversationMetadata(problem="metadata.json is not an object")
    labels = value.get("labels")
    return ConversationMetadata(
        title=value["title"] if isinstance(value.get("title"), str) else "",
        last_activated_at=_parse_time(value.get("last_activated_at")),
        pinned_at=_parse_time(value.get("pinned_at")),
        expires_at=_parse_time(value.get("expires_at")),
        labels={str(k): str(v) for k, v in labels.items()} if isinstance(labels, dict) else {},
    )


def read_events(disk_conversation: DiskConversation) -> bytes:
    """Return the bytes of the stream's file. Raises OSError."""
    return directory_handles.read_file(find_stream_file(disk_conversation.folder), MAX_STREAM_BYTES)


def find_stream_file(folder: Path) -> Path:
    """Return ``events.json``, or ``messages.json`` where only that older file exists."""
    try:
        with Directory.open_at(folder) as directory_handle:
            return folder / _choose_stream_name(_stat_files(directory_handle, _STREAM_NAMES))
    except OSError:
        return folder / _STREAM_NAMES[0]


def split_fingerprint(fingerprint: str) -> tuple[str, str]:
    """Return the parts of a fingerprint that change with the metadata, and with the events."""
    metadata_fingerprint, _, stream_fingerprint = fingerprint.rpartition("/")
    return metadata_fingerprint, stream_fingerprint


def is_transient(error: Exception, file_fingerprint: str) -> bool:
    """Tell whether an error of reading may pass while the file's fingerprint stays the same."""
    if isinstance(error, FileNotFoundError):  # it was moved, unless it was missing before
        return file_fingerprint != _MISSING
    return isinstance(error, OSError | MemoryError) and not isinstance(error, EntryRefused)


def get_stream_size(disk_conversation: DiskConversation) -> int:
    """Return the bytes of the stream's file, 0 where it is missing or refused."""
    try:
        status = directory_handles.stat_path(find_stream_file(disk_conversation.folder))
    except OSError:
        return 0
    return status.st_size if status and status.st_size <= MAX_STREAM_BYTES else 0


def get_created_at(jp_id: int) -> datetime:
    """Return the instant of a conversation's id, clamped to Python's range."""
    try:
        return _EPOCH + timedelta(milliseconds=jp_id * 100)
    except OverflowError:
        return _EPOCH


def make_jp_id(moment: datetime) -> int:
    """Return the id of a conversation that begins at ``moment``: deciseconds, truncated."""
    return int((moment - _EPOCH) / timedelta(milliseconds=100))


def _parse_time(value: Any) -> datetime | None:
    return timestamps.parse_timestamp(value) if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class _FolderCopy:
    """One root's folder of a conversation, and the status of its files, links as links."""

    folder: Path
    statuses: Mapping[str, os.stat_result]

    def get_changed_at(self, *names: str) -> int:
        """Return when one of the files changed last, in nanoseconds; -1 where there is none."""
        return max(
            self.statuses[name].st_mtime_ns if name in self.statuses else -1 for name in names
        )

    def get_fingerprint(self, name: str) -> str:
        status = self.statuses.get(name)
        return f"{status.st_size}.{status.st_mtime_ns}.{status.st_ino}" if status else _MISSING


def _find_copies(
    parents: list[Path], refusals: Refusals, only_id: int | None = None
) -> dict[int, list[_FolderCopy]]:
    """Return the folders of each conversation, or of one; one per root, in the roots' order."""
    copies_by_id: dict[int, list[_FolderCopy]] = {}
    for parent in parents:
        try:
            with Directory.open_at(parent) as directory_handle:
                for jp_id, copy in _iterate_copies(directory_handle, refusals, only_id):
                    copies = copies_by_id.setdefault(jp_id, [])
                    if not any(earlier_copy.folder.parent == parent for earlier_copy in copies):
                        copies.append(copy)
        except FileNotFoundError:
            continue
        except OSError as error:
            is_refused = isinstance(error, EntryRefused | NotADirectoryError)
            if is_refused and parent.name == ".archive":
                refusals.lines.append(f"{parent.name}: {error.strerror}")
                refusals.has_archive = True
                continue
            raise NoWorkspace(f"{parent} cannot be read: {error.strerror}") from error
    return copies_by_id


def _iterate_copies(
    parent: Directory, refusals: Refusals, only_id: int | None
) -> Iterator[tuple[int, _FolderCopy]]:
    for entry in parent.list_entries():
        jp_id = _parse_jp_id(entry.name)
        if jp_id is None or only_id not in (None, jp_id):
            continue
        try:
            with parent.open_subdirectory(entry.name) as folder:
                yield jp_id, _FolderCopy(folder.path, _stat_files(folder, _FILE_NAMES))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            refusals.lines.append(f"{entry.name}: {error.strerror}")
            refusals.jp_ids.add(jp_id)


def _choose_copies(jp_id: int, copies: list[_FolderCopy], *, is_archived: bool) -> DiskConversation:
    # max() keeps the first of equals, and the silo comes first.
    stream_copy = max(
        copies,
        key=lambda candidate: candidate.get_changed_at(
            _choose_stream_name(candidate.statuses), "base_config.json"
        ),
    )
    metadata_copy = max(copies, key=lambda candidate: candidate.get_changed_at("metadata.json"))
    fingerprint = (
        f"{metadata_copy.get_fingerprint('metadata.json')}/{_make_stream_fingerprint(stream_copy)}"
    )
    return DiskConversation(
        stream_copy.folder, metadata_copy.folder, jp_id, is_archived, fingerprint
    )


def _make_stream_fingerprint(copy: _FolderCopy) -> str:
    return copy.get_fingerprint(_choose_stream_name(copy.statuses))


def _stat_files(folder: Directory, names: tuple[str, ...]) -> dict[str, os.stat_result]:
    return {name: status for name in names if (status := folder.stat(name)) is not None}


def _choose_stream_name(statuses: Mapping[str, os.stat_result]) -> str:
    current_name, older_name = _STREAM_NAMES
    return older_name if older_name in statuses and current_name not in statuses else current_name


def _parse_jp_id(name: str) -> int | None:
    head = name.partition("-")[0]
    return int(head) if _DECISECONDS.fullmatch(head) else None


def _is_conversation_folder(entry: os.DirEntry[str]) -> bool:
    return _parse_jp_id(entry.name) is not None and entry.is_dir(follow_symlinks=False)


def _has_jp_folder(root: Path) -> bool:
    """Tell whether a folder has a ``.jp``. Raises EntryRefused where that is a link, OSError."""
    try:
        with Directory.open_at(root) as directory_handle, directory_handle.open_subdirectory(".jp"):
            return True
    except (FileNotFoundError, NotADirectoryError):
        return False


def _read_workspace_id(root: Path) -> tuple[str, tuple[str, ...]]:
    """Return the id in ``.id``, and a note where the file is refused.

    JP would write a new one where it is missing, a reader must not.
    """
    notes: tuple[str, ...] = ()
    try:
        lines = directory_handles.read_file(root / ".jp" / ".id", _MAX_ID_BYTES).decode().split()
    except EntryRefused as error:
        lines, notes = [], (f".jp/.id: {error.strerror}",)
    except (OSError, UnicodeDecodeError):
        lines = []
    if lines and _WORKSPACE_ID.fullmatch(lines[-1]):
        return lines[-1], notes
    return "~" + hashlib.sha256(str(root).encode()).hexdigest()[:8], notes

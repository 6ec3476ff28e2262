"""Writes a conversation's files into a workspace, as JP does (docs/jp-format.md, Writing).

Root by root, the user-local silo's first: the folder's name, metadata.json,
base_config.json, events.json, each in one rename. A reader in between, or after a kill,
finds the old conversation, the new one, or the old one with new metadata; the same call
again completes it. Only these three files are written; no other file is ever deleted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from jpweb.store.database import clock
from jpweb.store.errors import StoreError
from jpweb.store.jp_files import directory_handles, workspace
from jpweb.store.jp_files.directory_handles import Directory
from jpweb.store.jp_files.locks import ConversationLock
from jpweb.stream import timestamps
from jpweb.stream.wire.strict_json import parse_strict_json

METADATA_NAME, BASE_CONFIG_NAME, EVENTS_NAME = "metadata.json", "base_config.json", "events.json"
_MAX_BYTES = {
    METADATA_NAME: workspace.MAX_METADATA_BYTES,
    BASE_CONFIG_NAME: workspace.MAX_BASE_CONFIG_BYTES,
    EVENTS_NAME: workspace.MAX_STREAM_BYTES,
}
_EMPTY_EVENTS = b"[]\n"
_TIME_KEYS = ("last_activated_at", "pinned_at", "archived_at", "expires_at")
_JP_KEYS = ("title", *_TIME_KEYS, "labels")
#: Smallest configuration that passes JP's validation (docs/jp-format.md, Base configuration).
SMALLEST_BASE_CONFIG = (
    json.dumps(
        {
            "assistant": {"model": {"id": {"provider": "anthropic", "name": "x"}}},
            "conversation": {"tools": {"*": {"run": "ask"}}},
        },
        indent=2,
    )
    + "\n"
).encode()
#: Characters that Rust's ``trim`` removes; Python's ``strip`` also removes U+001C to U+001F.
_RUST_WHITESPACE = (
    "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029"
)
_RUST_WHITESPACE += "\u202f\u205f\u3000"
_MAX_TITLE_IN_NAME = 60


class FilesChanged(StoreError):
    """The files on disk are not those that the caller knows; nothing was written."""


class UnwritableMetadata(StoreError):
    """The metadata has no form that JP can read; nothing was written."""


@dataclass(frozen=True, slots=True)
class ConversationFiles:
    """The content of a conversation's folder.

    ``metadata`` changes the file on disk: a key that it lacks stays, None removes it, so a
    pin or a label that ``jp`` set is kept. Times are datetimes with a zone, or text that JP
    reads. Its title names the folder. ``events`` is the whole file, from ``wire.join_array``.
    ``base_config`` is used only where there is none; None makes the smallest that JP loads
    for a new conversation, and leaves one in the legacy layout as it is.
    """

    metadata: Mapping[str, Any]
    events: bytes
    base_config: bytes | None = None


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The conversation's folder in each root, and the files that got new bytes."""

    folders: tuple[Path, ...]
    changed: tuple[Path, ...]


def write_conversation(
    lock: ConversationLock,
    parents: Sequence[Path],
    files: ConversationFiles,
    expected_text: bytes | None,
) -> WriteResult:
    """Write the conversation into each root that is to have it (docs/jp-format.md, Two copies).

    ``parents`` are the ``conversations`` folders, the silo's first. ``expected_text`` is the
    events.json that the caller last wrote or read, None for a conversation that is new. The
    files on disk must be ``expected_text``, or those that an interrupted call left of ``files``:
    as many elements or more; others raise FilesChanged, as do an archived and a removed
    conversation.

    A new one is written everywhere. An old one where it exists; from the workspace alone
    also into the silo, its other files included.

    Raises LockHeld, FilesChanged, UnwritableMetadata before any write; OSError.
    """
    lock.confirm_held()
    folders_by_parent = [find_folders(parent, lock.jp_id) for parent in parents]
    latest_folder = _require_unchanged(parents, lock.jp_id, folders_by_parent, files, expected_text)
    metadata_source = _find_newest_folder(folders_by_parent, (METADATA_NAME,))
    metadata = merge_metadata(
        _read_file(metadata_source / METADATA_NAME) if metadata_source else None, files.metadata
    )
    base_config = _choose_base_config(latest_folder, files)
    file_set = _FileSet(lock.jp_id, _read_title(metadata), metadata, base_config, files.events)
    folders: list[Path] = []
    changed_paths: list[Path] = []
    for parent, existing_folders in zip(parents, folders_by_parent, strict=True):
        if existing_folders:
            folder = _keep_one_folder(file_set, existing_folders)
            if latest_folder == existing_folders[0]:
                latest_folder = folder  # it may have a new name
            changed_paths += file_set.write_files(folder)
        elif expected_text is None or parent == parents[0]:
            folder = _create_folder(parent, file_set, latest_folder)
            changed_paths += (
                path for path in file_set.get_paths(folder) if directory_handles.stat_path(path)
            )
        else:
            continue  # JP keeps it in the silo alone
        directory_handles.sync_directory(folder)
        directory_handles.sync_directory(parent)
        folders.append(folder)
    return WriteResult(tuple(folders), tuple(changed_paths))


def has_conversation(parents: Sequence[Path], jp_id: int) -> bool:
    """Tell whether a root has the conversation, archived or not. Raises OSError."""
    return any(
        find_folders(parent, jp_id) or find_folders(parent / ".archive", jp_id)
        for parent in parents
    )


def make_folder_name(jp_id: int, title: str | None) -> str:
    """Return the name of a conversation's folder (docs/jp-format.md, Folder names).

    Rust also counts combining vowel signs among letters: an existing folder is found by its
    id, and renamed only for another title.
    """
    title = title or ""
    slug = "".join(
        c if c.isalnum() else "-" for c in title.strip(_RUST_WHITESPACE)[:_MAX_TITLE_IN_NAME]
    )
    slug = slug.rstrip("-").lower()
    if not slug:
        return str(jp_id)
    name = f"{jp_id}-{slug}"
    return name[: name.rindex("-")] if len(title.encode()) > _MAX_TITLE_IN_NAME else name


def merge_metadata(existing_text: bytes | None, changes: Mapping[str, Any]) -> bytes:
    """Return the existing metadata.json with ``changes`` (docs/jp-format.md, Metadata).

    JP's keys in JP's order, the labels sorted, times as JP writes them; then the keys that
    JP does not know, unchanged. Raises UnwritableMetadata.
    """
    try:
        values = {} if existing_text is None else parse_strict_json(existing_text)
    except (ValueError, RecursionError) as error:
        raise UnwritableMetadata(f"metadata.json on disk cannot be read: {error}"[:300]) from error
    if not isinstance(values, dict):
        raise UnwritableMetadata("metadata.json on disk is not an object.")
    for key, value in changes.items():
        values[key] = _format_time(key, value) if key in _TIME_KEYS and value is not None else value
    if not isinstance(values.get("last_activated_at"), str):
        raise UnwritableMetadata("JP needs “last_activated_at” in metadata.json.")
    content = {key: values[key] for key in _JP_KEYS if values.get(key) is not None}
    labels = content.pop("labels", None)
    if labels:
        content["labels"] = dict(sorted(labels.items())) if isinstance(labels, dict) else labels
    content |= {key: value for key, value in values.items() if key not in _JP_KEYS}
    try:
        return (json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
    except ValueError as error:
        raise UnwritableMetadata(f"metadata.json cannot be written: {error}"[:300]) from error


def _format_time(key: str, value: Any) -> str:
    if isinstance(value, datetime):
        return timestamps.format_timestamp(value)
    if not isinstance(value, str) or timestamps.parse_timestamp(value) is None:
        raise UnwritableMetadata(f"“{key}” cannot be read as a time: {value!r}"[:300])
    seconds, _, fraction = timestamps.normalize_timestamp(value).rpartition(".")
    return f"{seconds[:19].replace('T', ' ')}.{fraction.rstrip('0') or '0'}"


@dataclass(frozen=True, slots=True)
class _FileSet:
    """The bytes of the three files, the same for every root."""

    jp_id: int
    title: str | None
    metadata: bytes
    base_config: bytes | None
    events: bytes

    def choose_name(self, folder: Path | None) -> str:
        """Return the folder's name: its present one, which JP chose, unless the title differs."""
        is_same_title = (
            folder is not None and _read_title(_read_file(folder / METADATA_NAME)) == self.title
        )
        return folder.name if folder and is_same_title else make_folder_name(self.jp_id, self.title)

    def get_paths(self, folder: Path) -> Iterator[Path]:
        return (folder / name for name in (METADATA_NAME, BASE_CONFIG_NAME, EVENTS_NAME))

    def write_files(self, folder: Path) -> list[Path]:
        """Write the files in JP's order; return those that got new bytes."""
        existing_config = _read_file(folder / BASE_CONFIG_NAME)  # JP's, whatever it holds
        base_config = self.base_config if existing_config is None else existing_config
        contents = (self.metadata, base_config, self.events)
        return [
            path
            for path, data in zip(self.get_paths(folder), contents, strict=True)
            if data is not None and _replace_if_changed(path, data)
        ]


def find_folders(parent: Path, jp_id: int) -> list[Path]:
    """Return the folders of this id, the one that changed last first."""
    name_pattern = re.compile(rf"{jp_id}(?:-.*)?", re.DOTALL)
    try:
        entries = directory_handles.list_entries(parent)
    except FileNotFoundError:
        return []
    folders = [
        parent / entry.name
        for entry in entries
        if name_pattern.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
    ]
    names = (EVENTS_NAME,)
    return sorted(folders, key=lambda folder: _get_change_time(folder, names), reverse=True)


def _get_change_time(folder: Path, names: Sequence[str]) -> int:
    with suppress(FileNotFoundError), Directory.open_at(folder) as directory_handle:
        return max(
            status.st_mtime_ns if (status := directory_handle.stat(name)) else 0 for name in names
        )
    return 0


def _find_newest_folder(
    folders_by_parent: Sequence[Sequence[Path]], names: Sequence[str]
) -> Path | None:
    """Return the folder whose copy JP reads: the newest, of equals the silo's."""
    copies = [folders[0] for folders in folders_by_parent if folders]
    return max(copies, key=lambda folder: _get_change_time(folder, names), default=None)


def _require_unchanged(
    parents: Sequence[Path],
    jp_id: int,
    folders_by_parent: Sequence[Sequence[Path]],
    files: ConversationFiles,
    expected_text: bytes | None,
) -> Path | None:
    """Return the folder whose events count, None where there is none. Raises FilesChanged."""
    if any(find_folders(parent / ".archive", jp_id) for parent in parents):
        raise FilesChanged("This conversation was archived meanwhile.")
    latest_folder = _find_newest_folder(folders_by_parent, (EVENTS_NAME, BASE_CONFIG_NAME))
    if latest_folder is None:
        if expected_text is not None:
            raise FilesChanged("This conversation was removed meanwhile.")
        return None
    twins = [folder for folders in folders_by_parent for folder in folders[1:]]
    for folder in (latest_folder, *twins):
        if not _has_known_events(folder, files, expected_text):
            raise FilesChanged(f"{folder / EVENTS_NAME} was changed meanwhile, and not by jpweb.")
    return latest_folder


def _has_known_events(folder: Path, files: ConversationFiles, expected_text: bytes | None) -> bool:
    """Tell whether the events are the expected ones or an interrupted call's."""
    events = _read_file(folder / EVENTS_NAME)
    if events is None:
        return False
    if expected_text is None and events == _EMPTY_EVENTS:  # only the title identifies our call
        return _read_title(_read_file(folder / METADATA_NAME)) == files.metadata.get("title")
    if events in (expected_text, files.events):
        return True
    known_events = expected_text or _EMPTY_EVENTS
    return _is_extension(known_events, events) and _is_extension(events, files.events)


def _is_extension(shorter_text: bytes, longer_text: bytes) -> bool:
    """Tell whether the longer array begins with all elements of the shorter."""
    start = shorter_text.removesuffix(b"\n]\n")
    return shorter_text in (longer_text, _EMPTY_EVENTS) or (
        start != shorter_text and longer_text.startswith(start + b",")
    )


def _choose_base_config(latest_folder: Path | None, files: ConversationFiles) -> bytes | None:
    """Return the content of a missing base_config.json; the existing one, where there is one."""
    if latest_folder is None:
        return files.base_config or SMALLEST_BASE_CONFIG
    return _read_file(latest_folder / BASE_CONFIG_NAME) or files.base_config


def _keep_one_folder(file_set: _FileSet, folders: Sequence[Path]) -> Path:
    """Return the one folder of the conversation, under its name.

    JP deletes other folders of the id; we move them to the trash, where JP moves what it
    cannot use, so that no file is lost.
    """
    folder, *duplicates = folders
    for duplicate_folder in duplicates:
        move_to_trash(duplicate_folder, duplicate_folder.parent / ".trash")
    return directory_handles.rename_entry(folder, folder.with_name(file_set.choose_name(folder)))


def move_to_trash(folder: Path, trash: Path) -> None:
    """Move a second folder of a conversation into the trash."""
    directory_handles.make_directory(trash)
    target, number = trash / folder.name, 0
    while directory_handles.stat_path(target):
        number += 1
        target = trash / f"{folder.name}-{number}"
    directory_handles.rename_entry(folder, target)
    note = (
        "# Trashed Conversation\n\n"
        "jpweb moved this folder here: another one held the same conversation.\n\n"
        f"**Date:** {clock.now():%Y-%m-%dT%H:%M:%SZ}\n"
    )
    directory_handles.remove_file(target / "TRASHED.md")
    directory_handles.write_file(target / "TRASHED.md", note.encode())


def _create_folder(parent: Path, file_set: _FileSet, source: Path | None) -> Path:
    """Make the complete folder under a name that JP overlooks, and rename it.

    See docs/jp-format.md, Start-up checks.

    It begins as a copy of ``source``, the folder in another root, so that no other file is
    missing here.
    """
    directory_handles.make_directory(parent)
    staging_folder = parent / f".jpweb-{file_set.jp_id}"
    if directory_handles.stat_path(staging_folder):
        directory_handles.remove_tree(
            staging_folder
        )  # of an interrupted call; only a lock's holder makes it
    if source is None:
        directory_handles.make_directory(staging_folder)
    else:
        directory_handles.copy_tree(source, staging_folder, lambda name: not name.endswith(".tmp"))
    file_set.write_files(staging_folder)
    directory_handles.sync_directory(staging_folder)
    return directory_handles.rename_entry(staging_folder, parent / file_set.choose_name(source))


def _replace_if_changed(target: Path, data: bytes) -> bool:
    """Replace the file unless it has these bytes; then its modification time stays."""
    temporary = target.with_name(target.name + ".tmp")
    directory_handles.remove_file(temporary)  # of an interrupted call, or planted to be followed
    if _read_file(target) == data:
        return False
    try:
        _replace_file(target, temporary, data)
    except FileNotFoundError:  # a jp that starts deletes every ``.tmp``, locked or not
        _replace_file(target, temporary, data)
    return True


def _replace_file(target: Path, temporary: Path, data: bytes) -> None:
    try:
        directory_handles.write_file(temporary, data)
        directory_handles.rename_entry(temporary, target)
    finally:
        directory_handles.remove_file(temporary)


def _read_title(metadata: bytes | None) -> str | None:
    try:
        value = json.loads(metadata or b"")
    except (ValueError, RecursionError):
        return None
    title = value.get("title") if isinstance(value, dict) else None
    return title if isinstance(title, str) else None


def _read_file(path: Path) -> bytes | None:
    try:
        return directory_handles.read_file(
            path, _MAX_BYTES.get(path.name, workspace.MAX_STREAM_BYTES)
        )
    except FileNotFoundError:
        return None

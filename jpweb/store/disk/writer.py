"""A conversation's files written into a workspace (jp-storage-format, sections 2 to 6 and 9).

Home by home, the user-local silo's first: the folder's name, metadata.json, base_config.json,
events.json, each in one rename. Who reads in between, or after a kill, finds the old
conversation, the new one, or the old one with new metadata; the same call again completes it.
Only these three files are written; nobody else's file is ever deleted.
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
from jpweb.store.disk import directory
from jpweb.store.disk.directory import Directory
from jpweb.store.disk.locks import ConversationLock
from jpweb.store.errors import StoreError
from jpweb.stream import timestamps

METADATA, BASE_CONFIG, EVENTS = "metadata.json", "base_config.json", "events.json"
_LIMITS = {
    METADATA: directory.MAX_METADATA_BYTES,
    BASE_CONFIG: directory.MAX_BASE_CONFIG_BYTES,
    EVENTS: directory.MAX_STREAM_BYTES,
}
_NO_EVENTS = b"[]\n"
_INSTANTS = ("last_activated_at", "pinned_at", "archived_at", "expires_at")
_KEYS = ("title", *_INSTANTS, "labels")
#: The least that passes JP's validation (section 5).
SMALLEST = (
    json.dumps(
        {
            "assistant": {"model": {"id": {"provider": "anthropic", "name": "x"}}},
            "conversation": {"tools": {"*": {"run": "ask"}}},
        },
        indent=2,
    )
    + "\n"
).encode()
#: What Rust trims; Python's ``strip`` would take U+001C to U+001F as well.
_BLANK = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029"
_BLANK += "\u202f\u205f\u3000"
_NAMED = 60


class ChangedMeanwhile(StoreError):
    """What is on disk is not what the caller knows of; nothing was written."""


class Unwritable(StoreError):
    """The metadata cannot be made into what JP reads; nothing was written."""


@dataclass(frozen=True, slots=True)
class ConversationFiles:
    """What a conversation's folder is to hold.

    ``metadata`` changes what is on disk: a key that it lacks stays as it is, None removes it, so
    a pin or a label that ``jp`` set is kept. Instants are datetimes with a zone, or text that
    JP reads. Its title names the folder. ``events`` is the whole file, from ``wire.join``.
    ``base_config`` is used only where there is none; None makes the smallest that JP loads for a
    new conversation, and leaves one in the legacy layout as it is (section 12).
    """

    metadata: Mapping[str, Any]
    events: bytes
    base_config: bytes | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """The conversation's folder in each home, and the files that got new bytes."""

    folders: tuple[Path, ...]
    changed: tuple[Path, ...]


def write(
    lock: ConversationLock, homes: Sequence[Path], files: ConversationFiles, expected: bytes | None
) -> Written:
    """Write the conversation into each home that is to have it (section 6).

    ``homes`` are the ``conversations`` folders, the silo's first. ``expected`` is the
    events.json that the caller last wrote or read, None for a conversation that is new. On disk
    is then ``expected``, or what an interrupted call left of ``files``: as many elements or
    more; anything else raises ChangedMeanwhile, as do an archived and a removed conversation.

    Where a new one goes: everywhere. An old one: where it is (section 3); from the workspace
    alone also into the silo, its other files included.

    Raises Held, ChangedMeanwhile, Unwritable before anything is written; OSError.
    """
    lock.confirm()
    found = [folders_of(home, lock.ds) for home in homes]
    latest = _unchanged(homes, lock.ds, found, files, expected)
    about = _newest(found, (METADATA,))
    metadata = merged(_bytes(about / METADATA) if about else None, files.metadata)
    base = _base_config(latest, files)
    wanted = _Wanted(lock.ds, _title(metadata), metadata, base, files.events)
    folders: list[Path] = []
    changed: list[Path] = []
    for home, here in zip(homes, found, strict=True):
        if here:
            folder = _settled_folder(wanted, here)
            latest = folder if latest == here[0] else latest  # it may have a new name
            changed += wanted.put(folder)
        elif expected is None or home == homes[0]:
            folder = _created(home, wanted, latest)
            changed += (path for path in wanted.paths(folder) if directory.look_at(path))
        else:
            continue  # JP keeps it in the silo alone
        directory.sync(folder)
        directory.sync(home)
        folders.append(folder)
    return Written(tuple(folders), tuple(changed))


def exists(homes: Sequence[Path], ds: int) -> bool:
    """Tell whether a home has the conversation, archived or not. Raises OSError."""
    return any(folders_of(home, ds) or folders_of(home / ".archive", ds) for home in homes)


def dirname(ds: int, title: str | None) -> str:
    """Return the name that a conversation's folder gets (section 2).

    Rust also counts combining vowel signs among letters: a folder that exists is found by its
    id, and named anew only for another title.
    """
    title = title or ""
    slug = "".join(c if c.isalnum() else "-" for c in title.strip(_BLANK)[:_NAMED])
    slug = slug.rstrip("-").lower()
    if not slug:
        return str(ds)
    name = f"{ds}-{slug}"
    return name[: name.rindex("-")] if len(title.encode()) > _NAMED else name


def merged(existing: bytes | None, changes: Mapping[str, Any]) -> bytes:
    """Return the metadata.json that ``changes`` make of the existing one (section 4).

    JP's keys in JP's order, the labels sorted, instants as JP writes them; then the keys that
    JP does not know, as they are. Raises Unwritable.
    """
    try:
        values = json.loads(existing, parse_constant=_no_number) if existing is not None else {}
    except (ValueError, RecursionError) as error:
        raise Unwritable(f"metadata.json on disk cannot be read: {error}"[:300]) from error
    if not isinstance(values, dict):
        raise Unwritable("metadata.json on disk is not an object.")
    for key, value in changes.items():
        values[key] = _instant(key, value) if key in _INSTANTS and value is not None else value
    if not isinstance(values.get("last_activated_at"), str):
        raise Unwritable("JP needs “last_activated_at” in metadata.json.")
    whole = {key: values[key] for key in _KEYS if values.get(key) is not None}
    labels = whole.pop("labels", None)
    if labels:
        whole["labels"] = dict(sorted(labels.items())) if isinstance(labels, dict) else labels
    whole |= {key: value for key, value in values.items() if key not in _KEYS}
    try:
        return (json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
    except ValueError as error:
        raise Unwritable(f"metadata.json cannot be written: {error}"[:300]) from error


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _instant(key: str, value: Any) -> str:
    if isinstance(value, datetime):
        return timestamps.written(value)
    if not isinstance(value, str) or timestamps.parse(value) is None:
        raise Unwritable(f"“{key}” cannot be read as a time: {value!r}"[:300])
    whole, _, fraction = timestamps.instant(value).rpartition(".")
    return f"{whole[:19].replace('T', ' ')}.{fraction.rstrip('0') or '0'}"


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The bytes of the three files, the same for every home."""

    ds: int
    title: str | None
    metadata: bytes
    base_config: bytes | None
    events: bytes

    def name(self, folder: Path | None) -> str:
        """Return the folder's name: the one it has, JP's own, unless the title is another."""
        same = folder is not None and _title(_bytes(folder / METADATA)) == self.title
        return folder.name if folder and same else dirname(self.ds, self.title)

    def paths(self, folder: Path) -> Iterator[Path]:
        return (folder / name for name in (METADATA, BASE_CONFIG, EVENTS))

    def put(self, folder: Path) -> list[Path]:
        """Write the files in JP's order; return those that got new bytes."""
        existing = _bytes(folder / BASE_CONFIG)  # JP's, whatever it holds
        base_config = self.base_config if existing is None else existing
        contents = (self.metadata, base_config, self.events)
        return [
            path
            for path, data in zip(self.paths(folder), contents, strict=True)
            if data is not None and _put(path, data)
        ]


def folders_of(home: Path, ds: int) -> list[Path]:
    """Return the folders of this id, the one that changed last first (section 2)."""
    own = re.compile(rf"{ds}(?:-.*)?", re.DOTALL)
    try:
        entries = directory.list_entries(home)
    except FileNotFoundError:
        return []
    folders = [
        home / entry.name
        for entry in entries
        if own.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
    ]
    return sorted(folders, key=lambda folder: _changed_at(folder, (EVENTS,)), reverse=True)


def _changed_at(folder: Path, names: Sequence[str]) -> int:
    with suppress(FileNotFoundError), Directory.at(folder) as place:
        return max(seen.st_mtime_ns if (seen := place.stat(name)) else 0 for name in names)
    return 0


def _newest(found: Sequence[Sequence[Path]], names: Sequence[str]) -> Path | None:
    """Return the folder whose copy JP reads: the newest, of equals the silo's (section 3)."""
    copies = [folders[0] for folders in found if folders]
    return max(copies, key=lambda folder: _changed_at(folder, names), default=None)


def _unchanged(
    homes: Sequence[Path],
    ds: int,
    found: Sequence[Sequence[Path]],
    files: ConversationFiles,
    expected: bytes | None,
) -> Path | None:
    """Return the folder whose events count, None where there is none. Raises ChangedMeanwhile."""
    if any(folders_of(home / ".archive", ds) for home in homes):
        raise ChangedMeanwhile("This conversation was archived meanwhile.")
    latest = _newest(found, (EVENTS, BASE_CONFIG))
    if latest is None:
        if expected is not None:
            raise ChangedMeanwhile("This conversation was removed meanwhile.")
        return None
    twins = [folder for folders in found for folder in folders[1:]]
    for folder in (latest, *twins):
        if not _known(folder, files, expected):
            raise ChangedMeanwhile(f"{folder / EVENTS} was changed meanwhile, and not by jpweb.")
    return latest


def _known(folder: Path, files: ConversationFiles, expected: bytes | None) -> bool:
    """Tell whether the events are the expected ones or an interrupted call's."""
    events = _bytes(folder / EVENTS)
    if events is None:
        return False
    if expected is None and events == _NO_EVENTS:  # only the title can tell whose it is
        return _title(_bytes(folder / METADATA)) == files.metadata.get("title")
    if events in (expected, files.events):
        return True
    return _extends(expected or _NO_EVENTS, events) and _extends(events, files.events)


def _extends(shorter: bytes, longer: bytes) -> bool:
    """Tell whether the array has the elements of the other, and maybe more behind them."""
    start = shorter.removesuffix(b"\n]\n")
    return shorter in (longer, _NO_EVENTS) or (start != shorter and longer.startswith(start + b","))


def _base_config(latest: Path | None, files: ConversationFiles) -> bytes | None:
    """Return what a folder without a base_config.json gets: never made anew where one is."""
    if latest is None:
        return files.base_config or SMALLEST
    return _bytes(latest / BASE_CONFIG) or files.base_config


def _settled_folder(wanted: _Wanted, folders: Sequence[Path]) -> Path:
    """Return the one folder of the conversation, under its name (section 6, step 1).

    JP deletes other folders of the id; we move them to the trash, where JP moves what it cannot
    use, and they cost nobody a file.
    """
    folder, *twins = folders
    for twin in twins:
        set_aside(twin, twin.parent / ".trash")
    return directory.rename(folder, folder.with_name(wanted.name(folder)))


def set_aside(folder: Path, trash: Path) -> None:
    """Move a second folder of a conversation out of JP's sight."""
    directory.make(trash)
    target, number = trash / folder.name, 0
    while directory.look_at(target):
        number += 1
        target = trash / f"{folder.name}-{number}"
    directory.rename(folder, target)
    note = (
        "# Trashed Conversation\n\n"
        "jpweb moved this folder here: another one held the same conversation.\n\n"
        f"**Date:** {clock.now():%Y-%m-%dT%H:%M:%SZ}\n"
    )
    directory.remove(target / "TRASHED.md")
    directory.write_file(target / "TRASHED.md", note.encode())


def _created(home: Path, wanted: _Wanted, source: Path | None) -> Path:
    """Make the folder whole under a name that JP overlooks, and rename it (section 9).

    It begins as a copy of ``source``, another home's, so that no other file is missing here.
    """
    directory.make(home)
    staged = home / f".jpweb-{wanted.ds}"
    if directory.look_at(staged):
        directory.remove_tree(staged)  # of an interrupted call; only a lock's holder makes it
    if source is None:
        directory.make(staged)
    else:
        directory.copy_tree(source, staged, lambda name: not name.endswith(".tmp"))
    wanted.put(staged)
    directory.sync(staged)
    return directory.rename(staged, home / wanted.name(source))


def _put(target: Path, data: bytes) -> bool:
    """Replace the file unless it has these bytes; then its time stays as well."""
    aside = target.with_name(target.name + ".tmp")
    directory.remove(aside)  # of an interrupted call, or planted to be followed
    if _bytes(target) == data:
        return False
    try:
        _replace(target, aside, data)
    except FileNotFoundError:  # a jp that starts deletes every ``.tmp``, locked or not
        _replace(target, aside, data)
    return True


def _replace(target: Path, aside: Path, data: bytes) -> None:
    try:
        directory.write_file(aside, data)
        directory.rename(aside, target)
    finally:
        directory.remove(aside)


def _title(metadata: bytes | None) -> str | None:
    try:
        value = json.loads(metadata or b"")
    except (ValueError, RecursionError):
        return None
    title = value.get("title") if isinstance(value, dict) else None
    return title if isinstance(title, str) else None


def _bytes(path: Path) -> bytes | None:
    try:
        return directory.read(path, _LIMITS.get(path.name, directory.MAX_STREAM_BYTES))
    except FileNotFoundError:
        return None

"""Patterns of ``extends``, matched against a source's files without following links."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from jpweb.store.errors import InvalidConfigFile
from jpweb.store.jp_files import directory_handles
from jpweb.store.jp_files.config import size_limits
from jpweb.store.jp_files.config.sources import ConfigSource, EntryPath

_WILDCARD_CHARS = frozenset("*?[")
#: Parts of a pattern that match what one of them matches.
_REPEATED_PARTS = ["**", "**"]


class FileFinder:
    """Finds a source's files; lists each directory once, and a limited number of entries.

    All its patterns together take a limited number of steps.
    ``notes`` name the links that were left out, in order.
    """

    def __init__(self, source: ConfigSource) -> None:
        self.notes: dict[str, None] = {}
        self._source = source
        self._remaining_entries = size_limits.MAX_LISTED_ENTRIES
        self._remaining_steps = size_limits.MAX_MATCH_STEPS
        self._entries_by_path: dict[EntryPath, list[os.DirEntry[str]]] = {}

    def find_files(self, pattern: str, folder: EntryPath = ()) -> list[EntryPath]:
        """Return the files that match from a folder on, in order. Raises InvalidConfigFile.

        ``..`` is resolved without looking at the disk, and stays inside the source. A path without
        wildcards that names nothing is noted.
        """
        visited_paths: set[tuple[EntryPath, EntryPath]] = set()
        parts = _split_pattern(pattern, folder)
        paths = sorted(set(self._expand_pattern((), parts, visited_paths)))
        if not paths and not _WILDCARD_CHARS & {*pattern}:
            name = self._source.format_path(parts)
            self.notes.setdefault(f"{name} was not read: there is no such file.")
        return paths

    def _expand_pattern(
        self,
        entry_path: EntryPath,
        parts: EntryPath,
        visited_paths: set[tuple[EntryPath, EntryPath]],
    ) -> Iterator[EntryPath]:
        if (entry_path, parts) in visited_paths:
            return
        visited_paths.add((entry_path, parts))
        part, later_parts = parts[0], parts[1:]
        if part == "**":
            if later_parts:
                yield from self._expand_pattern(entry_path, later_parts, visited_paths)
            yield from self._expand_directories(entry_path, "*", parts, visited_paths)
        elif later_parts:
            yield from self._expand_directories(entry_path, part, later_parts, visited_paths)
        else:
            files = (
                e
                for e in self._list_matching(entry_path, part)
                if not e.is_dir(follow_symlinks=False)
            )
            yield from ((*entry_path, entry.name) for entry in files)

    def _expand_directories(
        self,
        entry_path: EntryPath,
        part: str,
        later_parts: EntryPath,
        visited_paths: set[tuple[EntryPath, EntryPath]],
    ) -> Iterator[EntryPath]:
        """Expand ``later_parts`` in the matching directories; a link in their place is noted.

        Raises InvalidConfigFile where the pattern names the link itself.
        """
        for entry in self._list_matching(entry_path, part):
            child_path = (*entry_path, entry.name)
            if entry.is_dir(follow_symlinks=False):
                if len(child_path) > size_limits.MAX_LEVELS:
                    raise InvalidConfigFile(
                        f"extends looks deeper than {size_limits.MAX_LEVELS} directories."
                    )
                yield from self._expand_pattern(child_path, later_parts, visited_paths)
            elif entry.is_symlink():
                name = self._source.format_path(child_path)
                if not _WILDCARD_CHARS & {*part}:
                    raise InvalidConfigFile(
                        f"extends leads through a symbolic link: {name}. It was not followed."
                    )
                self.notes.setdefault(f"{name} was not read: it is a symbolic link.")

    def _list_matching(self, entry_path: EntryPath, part: str) -> list[os.DirEntry[str]]:
        entries = self._list_entries(entry_path)
        self._remaining_steps -= 1 + len(entries)
        if self._remaining_steps < 0:
            raise InvalidConfigFile(
                "extends takes more than "
                f"{size_limits.MAX_MATCH_STEPS:,} steps to match its patterns with files."
            )
        if not _WILDCARD_CHARS & {*part}:
            return [entry for entry in entries if entry.name == part]
        return [entry for entry in entries if fnmatchcase(entry.name, part)]

    def _list_entries(self, entry_path: EntryPath) -> list[os.DirEntry[str]]:
        if entry_path not in self._entries_by_path:
            try:
                entries = directory_handles.list_entries(
                    self._source.folder.joinpath(*entry_path), self._remaining_entries
                )
            except directory_handles.TooManyEntries as error:
                raise InvalidConfigFile(
                    f"extends looks at more than {size_limits.MAX_LISTED_ENTRIES:,} entries of "
                    "directories."
                ) from error
            self._remaining_entries -= len(entries)
            self._entries_by_path[entry_path] = entries
        return self._entries_by_path[entry_path]


def _split_pattern(pattern: str, folder: EntryPath) -> EntryPath:
    """Return the parts of a pattern in a folder, of consecutive ``**`` one.

    Raises InvalidConfigFile where it leads out.
    """
    quoted_pattern = repr(pattern[:100])
    if len(pattern) > size_limits.MAX_PATTERN_CHARACTERS:
        limit = size_limits.MAX_PATTERN_CHARACTERS
        raise InvalidConfigFile(
            f"extends has a path of more than {limit} characters: {quoted_pattern}."
        )
    path = PurePosixPath(pattern)
    parts = [*folder]
    is_outside = path.is_absolute() or "\0" in pattern
    for part in path.parts:
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
        else:
            is_outside = True
    if is_outside:
        raise InvalidConfigFile(
            f"extends leads out of the workspace: {quoted_pattern}. It was not followed."
        )
    if not parts or any("**" in part and part != "**" for part in parts):
        raise InvalidConfigFile(f"extends is not a path: {quoted_pattern}.")
    return tuple(
        part for number, part in enumerate(parts) if parts[number : number + 2] != _REPEATED_PARTS
    )

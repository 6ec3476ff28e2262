"""Patterns of ``extends``, held against the files of ``.jp`` without following links."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from jpweb.store import plain
from jpweb.store.disk import directory
from jpweb.store.disk.config import bounds
from jpweb.store.errors import BadFile

#: Names from ``.jp`` down to an entry.
Way: TypeAlias = tuple[str, ...]
_MAGIC = frozenset("*?[")


class Finder:
    """Finds files below ``.jp``; looks at each directory once, and at a bounded number of entries.

    ``notes`` say, in order, which entries were left out, being links.
    """

    def __init__(self, home: Path) -> None:
        self.notes: dict[str, None] = {}
        self._home = home
        self._left = bounds.MAX_LISTED_ENTRIES
        self._listed: dict[Way, list[os.DirEntry[str]]] = {}

    def find(self, pattern: str) -> list[Way]:
        """Return the entries that match and are no directories, in order. Raises BadFile."""
        seen: set[tuple[Way, Way]] = set()
        return sorted(set(self._expand((), _parts(pattern), seen)))

    def _expand(self, at: Way, parts: Way, seen: set[tuple[Way, Way]]) -> Iterator[Way]:
        if (at, parts) in seen:
            return
        seen.add((at, parts))
        part, rest = parts[0], parts[1:]
        if part == "**":
            if rest:
                yield from self._expand(at, rest, seen)
            yield from self._descend(at, "*", parts, seen)
        elif rest:
            yield from self._descend(at, part, rest, seen)
        else:
            files = (e for e in self._matching(at, part) if not e.is_dir(follow_symlinks=False))
            yield from ((*at, entry.name) for entry in files)

    def _descend(self, at: Way, part: str, rest: Way, seen: set[tuple[Way, Way]]) -> Iterator[Way]:
        """Expand ``rest`` in the directories that match; a link in their place is noted.

        Raises BadFile where the pattern names the link itself.
        """
        for entry in self._matching(at, part):
            way = (*at, entry.name)
            if entry.is_dir(follow_symlinks=False):
                if len(way) > bounds.MAX_LEVELS:
                    raise BadFile(f"extends looks deeper than {bounds.MAX_LEVELS} directories.")
                yield from self._expand(way, rest, seen)
            elif entry.is_symlink():
                name = plain.text("/".join((".jp", *way)))
                if not _MAGIC & {*part}:
                    raise BadFile(
                        f"extends leads through a symbolic link: {name}. It was not followed."
                    )
                self.notes.setdefault(f"{name} was not read: it is a symbolic link.")

    def _matching(self, at: Way, part: str) -> list[os.DirEntry[str]]:
        entries = self._list(at)
        if not _MAGIC & {*part}:
            return [entry for entry in entries if entry.name == part]
        return [entry for entry in entries if fnmatchcase(entry.name, part)]

    def _list(self, at: Way) -> list[os.DirEntry[str]]:
        if at not in self._listed:
            try:
                entries = directory.list_entries(self._home.joinpath(*at), self._left)
            except directory.TooMany as error:
                raise BadFile(
                    f"extends looks at more than {bounds.MAX_LISTED_ENTRIES:,} entries of "
                    "directories."
                ) from error
            self._left -= len(entries)
            self._listed[at] = entries
        return self._listed[at]


def _parts(pattern: str) -> Way:
    """Return a pattern's parts. Raises BadFile for one that leads out, or is none."""
    shown = repr(pattern[:100])
    if len(pattern) > bounds.MAX_PATTERN_CHARACTERS:
        most = bounds.MAX_PATTERN_CHARACTERS
        raise BadFile(f"extends has a path of more than {most} characters: {shown}.")
    path = PurePosixPath(pattern)
    if path.is_absolute() or ".." in path.parts or "\0" in pattern:
        raise BadFile(f"extends leads out of the workspace: {shown}. It was not followed.")
    if not path.parts or any("**" in part and part != "**" for part in path.parts):
        raise BadFile(f"extends is not a path: {shown}.")
    return path.parts

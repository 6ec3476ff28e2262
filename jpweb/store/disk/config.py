"""The configuration in a workspace's files: ``.jp/config.toml`` and what it extends. Read only.

Nothing outside the workspace's root is read, whatever a pattern or a symbolic link says.
"""

from __future__ import annotations

import json
import os
import stat
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from jpweb.store import plain
from jpweb.store.errors import BadFile

SIZE = 1024 * 1024
FILES = 200
#: What JP extends where nothing is said.
EXTENDS = ("config.d/**/*",)
_READ = (".toml", ".json")
_OTHER = (".json5", ".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Files:
    """What each file says, by its path from the root; later ones win."""

    layers: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Reader:
    root: Path
    layers: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read(root: Path) -> Files:
    """Read the configuration of the workspace at ``root``. Raises BadFile."""
    try:
        root = root.resolve()
        home = root / ".jp"
        main = home / "config.toml"
        reader = _Reader(root)
        for other in sorted(home.glob("config.*")):
            if other.suffix in (".json", *_OTHER) and other.is_file():
                reader.notes.append(f"{_name(reader, other)} was not read: only TOML is, here.")
        own = _parsed(reader, main) if main.exists() or main.is_symlink() else {}
        after: list[tuple[str, Mapping[str, Any]]] = []
        for pattern, later in _extends(own, _name(reader, main)):
            for path in _matching(reader, home, pattern):
                layer = (_name(reader, path), _parsed(reader, path))
                (after if later else reader.layers).append(layer)
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead in a circle
        raise BadFile(f"The configuration in {root} cannot be read: {_why(error)}") from error
    if own:
        reader.layers.append((_name(reader, main), own))
    return Files((*reader.layers, *after), tuple(reader.notes))


def parse(name: str, text: str) -> dict[str, Any]:
    """Return the values of a TOML text. Raises BadFile, which says in which line."""
    try:
        found: dict[str, Any] = plain.deep(tomllib.loads(text))
    except ValueError as error:
        raise BadFile(f"{name}: not TOML: {str(error)[:200]}") from error
    except RecursionError as error:
        raise BadFile(f"{name}: nested too deep to be read.") from error
    return found


def _extends(own: Mapping[str, Any], name: str) -> Iterator[tuple[str, bool]]:
    """Yield each pattern, and whether what it finds is laid over the file instead of under it."""
    given = own.get("extends", list(EXTENDS))
    bad = BadFile(f"{name}: extends must be a list of paths, or of tables of path and strategy.")
    if not isinstance(given, list):
        raise bad
    for each in given:
        entry = each if isinstance(each, dict) else {"path": each}
        pattern, strategy = entry.get("path"), entry.get("strategy", "before")
        if not isinstance(pattern, str) or not pattern or strategy not in ("before", "after"):
            raise bad
        yield pattern, strategy == "after"


def _matching(reader: _Reader, home: Path, pattern: str) -> list[Path]:
    parts = PurePosixPath(pattern)
    if parts.is_absolute() or ".." in parts.parts or "\0" in pattern:
        raise BadFile(
            f"extends leads out of the workspace: {pattern[:100]!r}. It was not followed."
        )
    found: list[Path] = []
    try:
        for path in home.glob(pattern):
            if path.is_dir() or path == home / "config.toml":
                continue
            if path.suffix in _READ:
                found.append(path)
            elif path.suffix in _OTHER:
                name = _name(reader, path)
                reader.notes.append(f"{name} was not read: only TOML and JSON are.")
            if len(found) > FILES:
                raise BadFile(f"extends finds more than {FILES} files: {pattern[:100]!r}.")
    except (ValueError, NotImplementedError) as error:
        raise BadFile(f"extends is not a path: {pattern[:100]!r}.") from error
    return sorted(found)


def _parsed(reader: _Reader, path: Path) -> dict[str, Any]:
    name = _name(reader, path)
    try:
        text = _content(reader.root, path, name).decode()
    except UnicodeDecodeError as error:
        raise BadFile(f"{name} is not UTF-8.") from error
    if path.suffix == ".toml":
        return parse(name, text)
    try:
        value = plain.deep(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise BadFile(f"{name}: not JSON: {str(error)[:200]}") from error
    if not isinstance(value, dict):
        raise BadFile(f"{name} is not a JSON object.")
    return value


def _content(root: Path, path: Path, name: str) -> bytes:
    """Return a file's bytes: a regular file inside the root, of bearable size."""
    real = path.resolve()
    if not real.is_relative_to(root):
        raise BadFile(f"{name} is a link that leads out of the workspace. It was not followed.")
    # Not a link any more, and no pipe that would make us wait.
    opened = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise BadFile(f"{name} is not a regular file.")
        content = file.read(SIZE + 1)
    if len(content) > SIZE:
        raise BadFile(f"{name} is larger than {SIZE // 1024} KiB.")
    return content


def _name(reader: _Reader, path: Path) -> str:
    return plain.text(str(path.relative_to(reader.root)))


def _why(error: Exception) -> str:
    strerror = getattr(error, "strerror", None)
    return (
        f"{Path(error.filename).name}: {strerror}"
        if isinstance(error, OSError) and (strerror and error.filename)
        else str(error)
    )

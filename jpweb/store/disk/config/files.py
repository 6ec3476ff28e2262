"""The configuration in a workspace's files: ``.jp/config.toml`` and what it extends. Read only.

Nothing outside the workspace's root is read, whatever a pattern or a symbolic link says, and what
files may cost is bounded before any of them is parsed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

from jpweb.store import plain
from jpweb.store.disk import directory
from jpweb.store.disk.config import bounds
from jpweb.store.disk.config.parsing import Text, parse_all
from jpweb.store.disk.config.patterns import Finder, Way
from jpweb.store.errors import BadFile

#: What JP extends where nothing is said.
EXTENDS = ("config.d/**/*",)
_MAIN = "config.toml"
_READ = (".toml", ".json")
_OTHER = (".json5", ".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Files:
    """What each file says, by its path from the root; later ones win."""

    layers: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    notes: tuple[str, ...] = ()
    #: Differs where a file's content does.
    fingerprint: str = ""

    def __hash__(self) -> int:
        return hash(self.fingerprint)


class _Reader:
    """Reads the files of one workspace, within the bounds of them all."""

    def __init__(self, home: Path) -> None:
        self.notes: list[str] = []
        self._home = home
        self._files, self._bytes = 0, 0

    def load(self, way: Way) -> Text:
        """Return a file's text. Raises BadFile, OSError."""
        name = _spell(way)
        try:
            content = directory.read(self._home.joinpath(*way), bounds.MAX_FILE_BYTES)
            text = content.decode()
        except directory.Refused as error:
            raise BadFile(f"{name}: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise BadFile(f"{name} is not UTF-8.") from error
        self._bytes += len(content)
        if self._bytes > bounds.MAX_TOTAL_BYTES:
            most = bounds.MAX_TOTAL_BYTES // 1024
            raise BadFile(f"{name}: with it, the configuration is larger than {most} KiB.")
        return Text(name, PurePosixPath(way[-1]).suffix, text)

    def select(self, found: list[Way], pattern: str) -> list[Way]:
        """Return the files that are read; others are noted. Raises BadFile for too many."""
        ways = []
        for way in found:
            suffix = PurePosixPath(way[-1]).suffix
            if way == (_MAIN,):
                continue
            if suffix in _READ:
                ways.append(way)
            elif suffix in _OTHER:
                self.notes.append(f"{_spell(way)} was not read: only TOML and JSON are.")
        self._files += len(ways)
        if self._files > bounds.MAX_FILES:
            raise BadFile(f"extends finds more than {bounds.MAX_FILES} files: {pattern[:100]!r}.")
        return ways


def read(root: Path) -> Files:
    """Read the configuration of the workspace at ``root``. Raises BadFile."""
    try:
        root = directory.resolve(root)
        if not directory.is_directory(root):
            return Files()
        return _read(root / ".jp")
    except OSError as error:
        raise BadFile(f"The configuration in {root} cannot be read: {_why(error)}") from error


def _read(home: Path) -> Files:
    reader = _Reader(home)
    try:
        entries = {entry.name: entry for entry in directory.list_entries(home)}
    except FileNotFoundError:
        return Files()
    for name, entry in entries.items():
        other = name.startswith("config.") and PurePosixPath(name).suffix in (".json", *_OTHER)
        if other and entry.is_file(follow_symlinks=False):
            reader.notes.append(f"{_spell((name,))} was not read: only TOML is, here.")
    main = [reader.load((_MAIN,))] if _MAIN in entries else []
    own: Mapping[str, Any] = parse_all(main)[0] if main else {}
    before: list[Text] = []
    after: list[Text] = []
    finder = Finder(home)
    for pattern, later in _extends(own, _spell((_MAIN,))):
        ways = reader.select(finder.find(pattern), pattern)
        (after if later else before).extend(reader.load(way) for way in ways)
    texts = [*before, *main, *after]
    named = zip((text.name for text in texts), parse_all(texts), strict=True)
    layers = tuple((name, values) for name, values in named if values or name != _spell((_MAIN,)))
    keys = b"".join(text.key for text in texts)
    fingerprint = sha256(keys).hexdigest() if keys else ""
    return Files(layers, (*reader.notes, *finder.notes), fingerprint)


def _extends(own: Mapping[str, Any], name: str) -> Iterator[tuple[str, bool]]:
    """Yield each pattern, and whether what it finds is laid over the file instead of under it."""
    given = own.get("extends", list(EXTENDS))
    bad = BadFile(f"{name}: extends must be a list of paths, or of tables of path and strategy.")
    if not isinstance(given, list):
        raise bad
    if len(given) > bounds.MAX_PATTERNS:
        raise BadFile(f"{name}: extends has more than {bounds.MAX_PATTERNS} paths.")
    for each in given:
        entry = each if isinstance(each, dict) else {"path": each}
        pattern, strategy = entry.get("path"), entry.get("strategy", "before")
        if not isinstance(pattern, str) or not pattern or strategy not in ("before", "after"):
            raise bad
        yield pattern, strategy == "after"


def _spell(way: Way) -> str:
    return plain.text("/".join((".jp", *way)))


def _why(error: OSError) -> str:
    name = Path(error.filename).name if error.filename else ""
    return f"{name}: {error.strerror}" if name and error.strerror else str(error)

"""Reads the configuration in a workspace's files: ``.jp/config.toml`` and what it extends.

Nothing outside the workspace's root is read, whatever a pattern or a symbolic link
says, and the cost of files is limited before any of them is parsed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

from jpweb.store import db_text
from jpweb.store.errors import InvalidConfigFile
from jpweb.store.jp_files import directory_handles
from jpweb.store.jp_files.config import size_limits
from jpweb.store.jp_files.config.extends import EntryPath, FileFinder
from jpweb.store.jp_files.config.toml_parser import ConfigText, parse_texts

#: JP's default of ``extends``.
DEFAULT_EXTENDS = ("config.d/**/*",)
_MAIN_NAME = "config.toml"
_READ_SUFFIXES = (".toml", ".json")
_IGNORED_SUFFIXES = (".json5", ".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class ConfigFiles:
    """The values of each file, by its path from the root; later ones win."""

    layers: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    notes: tuple[str, ...] = ()
    #: SHA-256 over the files, to compare contents.
    fingerprint: str = ""

    def __hash__(self) -> int:
        return hash(self.fingerprint)


class _ConfigReader:
    """Reads the files of one workspace, within their total limits."""

    def __init__(self, jp_folder: Path) -> None:
        self.notes: list[str] = []
        self._jp_folder = jp_folder
        self._file_count, self._byte_count = 0, 0

    def load_text(self, entry_path: EntryPath) -> ConfigText:
        """Return a file's text. Raises InvalidConfigFile, OSError."""
        name = _display_path(entry_path)
        try:
            content = directory_handles.read_file(
                self._jp_folder.joinpath(*entry_path), size_limits.MAX_FILE_BYTES
            )
            text = content.decode()
        except directory_handles.EntryRefused as error:
            raise InvalidConfigFile(f"{name}: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise InvalidConfigFile(f"{name} is not UTF-8.") from error
        self._byte_count += len(content)
        if self._byte_count > size_limits.MAX_TOTAL_BYTES:
            limit_kib = size_limits.MAX_TOTAL_BYTES // 1024
            raise InvalidConfigFile(
                f"{name}: with it, the configuration is larger than {limit_kib} KiB."
            )
        return ConfigText(name, PurePosixPath(entry_path[-1]).suffix, text)

    def select_readable(self, matches: list[EntryPath], pattern: str) -> list[EntryPath]:
        """Return the readable files; others are noted. Raises InvalidConfigFile for too many."""
        selected = []
        for entry_path in matches:
            suffix = PurePosixPath(entry_path[-1]).suffix
            if entry_path == (_MAIN_NAME,):
                continue
            if suffix in _READ_SUFFIXES:
                selected.append(entry_path)
            elif suffix in _IGNORED_SUFFIXES:
                self.notes.append(
                    f"{_display_path(entry_path)} was not read: only TOML and JSON are."
                )
        self._file_count += len(selected)
        if self._file_count > size_limits.MAX_FILES:
            raise InvalidConfigFile(
                f"extends finds more than {size_limits.MAX_FILES} files: {pattern[:100]!r}."
            )
        return selected


def read_config(root: Path) -> ConfigFiles:
    """Read the configuration of the workspace at ``root``. Raises InvalidConfigFile."""
    try:
        root = directory_handles.resolve_path(root)
        if not directory_handles.is_directory(root):
            return ConfigFiles()
        return _read_layers(root / ".jp")
    except OSError as error:
        raise InvalidConfigFile(
            f"The configuration in {root} cannot be read: {_explain_error(error)}"
        ) from error


def _read_layers(jp_folder: Path) -> ConfigFiles:
    reader = _ConfigReader(jp_folder)
    try:
        entries = {entry.name: entry for entry in directory_handles.list_entries(jp_folder)}
    except FileNotFoundError:
        return ConfigFiles()
    for name, entry in entries.items():
        is_ignored = name.startswith("config.") and PurePosixPath(name).suffix in (
            ".json",
            *_IGNORED_SUFFIXES,
        )
        if is_ignored and entry.is_file(follow_symlinks=False):
            reader.notes.append(f"{_display_path((name,))} was not read: only TOML is, here.")
    main = [reader.load_text((_MAIN_NAME,))] if _MAIN_NAME in entries else []
    main_values: Mapping[str, Any] = parse_texts(main)[0] if main else {}
    texts_before: list[ConfigText] = []
    texts_after: list[ConfigText] = []
    finder = FileFinder(jp_folder)
    for pattern, is_later in _parse_extends(main_values, _display_path((_MAIN_NAME,))):
        paths = reader.select_readable(finder.find_files(pattern), pattern)
        (texts_after if is_later else texts_before).extend(
            reader.load_text(entry_path) for entry_path in paths
        )
    texts = [*texts_before, *main, *texts_after]
    named_values = zip((text.name for text in texts), parse_texts(texts), strict=True)
    layers = tuple(
        (name, values)
        for name, values in named_values
        if values or name != _display_path((_MAIN_NAME,))
    )
    keys = b"".join(text.key for text in texts)
    fingerprint = sha256(keys).hexdigest() if keys else ""
    return ConfigFiles(layers, (*reader.notes, *finder.notes), fingerprint)


def _parse_extends(main_values: Mapping[str, Any], name: str) -> Iterator[tuple[str, bool]]:
    """Yield each pattern, and whether its files override the main file."""
    entries = main_values.get("extends", list(DEFAULT_EXTENDS))
    error = InvalidConfigFile(
        f"{name}: extends must be a list of paths, or of tables of path and strategy."
    )
    if not isinstance(entries, list):
        raise error
    if len(entries) > size_limits.MAX_PATTERNS:
        raise InvalidConfigFile(f"{name}: extends has more than {size_limits.MAX_PATTERNS} paths.")
    for item in entries:
        entry = item if isinstance(item, dict) else {"path": item}
        pattern, strategy = entry.get("path"), entry.get("strategy", "before")
        if not isinstance(pattern, str) or not pattern or strategy not in ("before", "after"):
            raise error
        yield pattern, strategy == "after"


def _display_path(entry_path: EntryPath) -> str:
    return db_text.clean_text("/".join((".jp", *entry_path)))


def _explain_error(error: OSError) -> str:
    name = Path(error.filename).name if error.filename else ""
    return f"{name}: {error.strerror}" if name and error.strerror else str(error)

"""Reads the configuration of a workspace: its files, the server user's own ones, and variables.

Nothing outside the places of ``sources`` is read, whatever a pattern or a symbolic link says, and
the cost of files is limited before any of them is parsed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

from jpweb import installation
from jpweb.store.errors import InvalidConfigFile
from jpweb.store.jp_files import directory_handles
from jpweb.store.jp_files.config import size_limits, variables
from jpweb.store.jp_files.config.extends import FileFinder
from jpweb.store.jp_files.config.sources import ConfigSource, EntryPath, list_sources
from jpweb.store.jp_files.config.toml_parser import (
    ConfigText,
    ParseResult,
    check_total,
    parse_texts,
)

#: In the order in which JP looks for a file.
_READ_SUFFIXES = (".toml", ".json", ".yaml", ".yml", ".jsonc")
_IGNORED_SUFFIXES = (".json5",)


@dataclass(frozen=True, slots=True)
class ConfigFiles:
    """The values of each file and variable, by its name for people; later ones win."""

    layers: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    notes: tuple[str, ...] = ()
    #: SHA-256 over the files and variables, to compare contents.
    fingerprint: str = ""
    #: Keys and items of all files.
    value_count: int = 0

    def __hash__(self) -> int:
        return hash(self.fingerprint)


class _ConfigReader:
    """Reads the files of one source, within their total limits."""

    def __init__(self, source: ConfigSource, main_path: EntryPath | None) -> None:
        self.notes: list[str] = []
        self._source, self._main_path = source, main_path
        self._file_count, self._byte_count = 0, 0

    def load_text(self, entry_path: EntryPath) -> ConfigText:
        """Return a file's text. Raises InvalidConfigFile, OSError."""
        name = self._source.format_path(entry_path)
        try:
            content = directory_handles.read_file(
                self._source.find_file(entry_path), size_limits.MAX_FILE_BYTES
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

    def select_readable(
        self, matches: list[EntryPath], pattern: str, extending_path: EntryPath | None
    ) -> list[EntryPath]:
        """Return the readable files; others are noted. Raises InvalidConfigFile for too many.

        A pattern with wildcards does not match the file that contains it, nor the main file.
        """
        selected_files = []
        for entry_path in matches:
            suffix = PurePosixPath(entry_path[-1]).suffix
            if entry_path in (self._main_path, extending_path):
                continue
            if suffix in _READ_SUFFIXES:
                selected_files.append(entry_path)
            elif suffix in _IGNORED_SUFFIXES:
                self.notes.append(
                    f"{self._source.format_path(entry_path)} was not read: "
                    "write TOML, JSON or YAML."
                )
        self._file_count += len(selected_files)
        if self._file_count > size_limits.MAX_FILES:
            raise InvalidConfigFile(
                f"extends finds more than {size_limits.MAX_FILES} files: {pattern[:100]!r}."
            )
        return selected_files


def read_config(root: Path, silo: Path | None = None) -> ConfigFiles:
    """Read the configuration of the workspace at ``root``. Raises InvalidConfigFile.

    ``silo`` is the folder of its user-local files that counts. A source with ``inherit = false``
    leaves the later ones out, other than variables (docs/jp-format.md, Configuration files).
    """
    try:
        root = installation.resolve_path(root)
        if not directory_handles.is_directory(root):
            return ConfigFiles()
        parts = list(_read_sources(list_sources(root, silo)))
    except OSError as error:
        raise InvalidConfigFile(
            f"The configuration in {root} cannot be read: {_explain_error(error)}"
        ) from error
    parts.append(_read_variables())
    keys = "".join(part.fingerprint for part in parts)
    return ConfigFiles(
        tuple(layer for part in parts for layer in part.layers),
        tuple(note for part in parts for note in part.notes),
        sha256(keys.encode()).hexdigest() if keys else "",
        sum(part.value_count for part in parts),
    )


def _read_sources(sources: Sequence[ConfigSource]) -> Iterator[ConfigFiles]:
    for source in sources:
        try:
            part = _read_source(source)
        except PermissionError as error:
            if not source.is_own:
                raise
            part = ConfigFiles(notes=(f"{source.label} was not read: {error.strerror}.",))
        yield part
        inherit = [values["inherit"] for _, values in part.layers if "inherit" in values]
        if inherit and inherit[-1] is False:
            return


def _read_variables() -> ConfigFiles:
    layers, notes = variables.read_variables()
    content = json.dumps([layers, notes])
    return ConfigFiles(
        layers, notes, sha256(content.encode()).hexdigest() if layers or notes else ""
    )


def _read_source(source: ConfigSource) -> ConfigFiles:
    names = [f"{source.stem}{suffix}" for suffix in (*_READ_SUFFIXES, *_IGNORED_SUFFIXES)]
    present_names = source.list_present(names)
    if present_names is None:
        return ConfigFiles()
    readable_names = [
        name for name in present_names if PurePosixPath(name).suffix in _READ_SUFFIXES
    ]
    main_path = (readable_names[0],) if readable_names else None
    tree = _ConfigTree(source, main_path)
    for name in present_names:
        if (name,) != main_path:
            tree.reader.notes.append(_explain_unread(source, name, main_path))
    tree.load_files()
    texts = tree.list_texts()
    check_total(tree.results[path] for path, _ in texts)  # merging reads each as often as it counts
    layers = tuple(
        (text.name, tree.results[path].values)
        for path, text in texts
        if tree.results[path].values or path != main_path
    )
    keys = b"".join(text.key for _, text in texts)
    fingerprint = sha256(source.label.encode() + keys).hexdigest() if keys else ""
    value_count = sum(tree.results[path].value_count for path, _ in texts)
    notes = (*tree.reader.notes, *tree.finder.notes)
    return ConfigFiles(layers, notes, fingerprint, value_count)


class _ConfigTree:
    """The main file and all files that it extends, directly or not.

    A file's own extends count from its own folder, as in JP.
    """

    def __init__(self, source: ConfigSource, main_path: EntryPath | None) -> None:
        self.reader, self.finder = _ConfigReader(source, main_path), FileFinder(source)
        self._source = source
        self.texts: dict[EntryPath, ConfigText] = {}
        self.results: dict[EntryPath, ParseResult] = {}
        self._main_path = main_path
        #: The files before and after each file; those of no file belong to the default.
        self._extended: dict[EntryPath | None, tuple[list[EntryPath], list[EntryPath]]] = {}

    def load_files(self) -> None:
        """Read and parse the files, those of one distance from the main file at once."""
        main = self._main_path
        pending_paths = self._find_extended(None, {}) if main is None else [main]
        while pending_paths:
            for path in pending_paths:
                self.texts[path] = self.reader.load_text(path)
            parsed_texts = parse_texts([self.texts[path] for path in pending_paths])
            self.results |= zip(pending_paths, parsed_texts, strict=True)
            extended_paths = [
                self._find_extended(path, result.values)
                for path, result in zip(pending_paths, parsed_texts, strict=True)
            ]
            pending_paths = [
                path
                for path in dict.fromkeys(path for paths in extended_paths for path in paths)
                if path not in self.texts
            ]

    def list_texts(self) -> list[tuple[EntryPath, ConfigText]]:
        """Return the texts, lowest first; one that two files extend is in it twice."""
        return [(path, self.texts[path]) for path in self._order_files(self._main_path, ())]

    def _find_extended(self, path: EntryPath | None, values: Mapping[str, Any]) -> list[EntryPath]:
        before: list[EntryPath] = []
        after: list[EntryPath] = []
        default = self._source.default_extends if path == self._main_path else ()
        name = self._source.format_path(path or self._source.main_path)
        for pattern, is_later in _parse_extends(values, name, default):
            file_paths = self.finder.find_files(pattern, path[:-1] if path else ())
            (after if is_later else before).extend(
                self.reader.select_readable(file_paths, pattern, path)
            )
        self._extended[path] = before, after
        return [*before, *after]

    def _order_files(self, path: EntryPath | None, chain: tuple[EntryPath, ...]) -> list[EntryPath]:
        if path in chain:
            cycle = " -> ".join(self._source.format_path(link) for link in (*chain, path))
            raise InvalidConfigFile(f"extends is circular: {cycle}.")
        before, after = self._extended[path]
        chain = (*chain, path) if path else chain
        ordered_paths: list[EntryPath] = []
        for child in before:
            ordered_paths += self._order_files(child, chain)
        ordered_paths += [path] if path else []
        for child in after:
            ordered_paths += self._order_files(child, chain)
        if len(ordered_paths) > size_limits.MAX_LAYERS:
            raise InvalidConfigFile(
                f"{self._source.format_path(path or self._source.main_path)} extends more than "
                f"{size_limits.MAX_LAYERS} files, counting each as often as it is extended."
            )
        return ordered_paths


def _explain_unread(source: ConfigSource, name: str, main_path: EntryPath | None) -> str:
    path = source.format_path((name,))
    if PurePosixPath(name).suffix in _IGNORED_SUFFIXES:
        return f"{path} was not read: write TOML, JSON or YAML."
    return f"{path} was not read: {source.format_path(main_path or ())} is."


def _parse_extends(
    values: Mapping[str, Any], name: str, default: Sequence[str]
) -> Iterator[tuple[str, bool]]:
    """Yield each pattern of a file, and whether the files that it finds override that file."""
    entries = values.get("extends", list(default))
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


def _explain_error(error: OSError) -> str:
    name = Path(error.filename).name if error.filename else ""
    return f"{name}: {error.strerror}" if name and error.strerror else str(error)

"""Parses configuration files in a subprocess, once for each content.

The subprocess has limits of time and memory, so a hostile text cannot harm the serving
process. Results, errors included, are cached by the hash of the content.
"""

from __future__ import annotations

import copy
import hashlib
import json
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import Any, NamedTuple

from jpweb.store import db_text
from jpweb.store.errors import InvalidConfigFile
from jpweb.store.jp_files.config import size_limits, toml_process

#: Limits of a subprocess: seconds of CPU time and of wall time, and bytes of memory.
MAX_CPU_SECONDS, MAX_WALL_SECONDS, MAX_MEMORY_BYTES = 5, 30, 512 * 1024 * 1024
MAX_PROCESSES = 2
#: Bytes of the texts and of the JSON of their results that are cached.
MAX_CACHED_BYTES = 4 * 1024 * 1024
#: The folder in which the subprocess finds PyYAML.
_PACKAGES_FOLDER = str(Path(getattr(find_spec("yaml"), "origin", None) or "").parents[1])


class ConfigText(NamedTuple):
    """A file's text and suffix, with its name for messages."""

    name: str
    suffix: str
    text: str

    @property
    def key(self) -> bytes:
        return hashlib.sha256(f"{self.suffix}\n{self.text}".encode()).digest()


class ParseResult(NamedTuple):
    """The result of a text: its values, read-only, and how many they are, or the problem."""

    values: dict[str, Any]
    problem: str
    size: int
    value_count: int = 0


class _ResultCache:
    """A cache of the newest results, by the hash of their texts."""

    def __init__(self) -> None:
        self._results: OrderedDict[bytes, ParseResult] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def get(self, key: bytes) -> ParseResult | None:
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
            return self._results.get(key)

    def put(self, key: bytes, result: ParseResult) -> None:
        with self._lock:
            if key not in self._results:
                self._size += result.size
            self._results[key] = result
            while self._size > MAX_CACHED_BYTES and len(self._results) > 1:
                self._size -= self._results.popitem(last=False)[1].size


_cache = _ResultCache()
_process_slots = BoundedSemaphore(MAX_PROCESSES)


def parse_toml(name: str, text: str) -> dict[str, Any]:
    """Return the values of a TOML text, a copy. Raises InvalidConfigFile, which names the line."""
    (result,) = parse_texts([ConfigText(name, ".toml", text)])
    return copy.deepcopy(result.values)


def parse_texts(texts: Sequence[ConfigText]) -> list[ParseResult]:
    """Return the results of valid texts. Raises InvalidConfigFile for the first invalid one."""
    keys = [text.key for text in texts]
    results = {key: result for key in keys if (result := _cache.get(key))}
    uncached_texts = {
        key: text for key, text in zip(keys, texts, strict=True) if key not in results
    }
    for text in uncached_texts.values():
        if text.suffix == ".toml":
            size_limits.check_depth(text.name, text.text)
    if uncached_texts:
        results |= _parse_new(uncached_texts)
    for key, text in zip(keys, texts, strict=True):
        if results[key].problem:
            raise InvalidConfigFile(f"{text.name}: {results[key].problem}")
    check_total(results[key] for key in keys)
    return [results[key] for key in keys]


def check_total(results: Iterable[ParseResult]) -> None:
    """Raise InvalidConfigFile for more values than all files may have together."""
    if sum(result.value_count for result in results) > size_limits.MAX_TOTAL_VALUES:
        limit_text = f"{size_limits.MAX_TOTAL_VALUES:,}"
        raise InvalidConfigFile(
            f"The configuration has more than {limit_text} keys and items in its files."
        )


def _parse_new(missing_texts: dict[bytes, ConfigText]) -> dict[bytes, ParseResult]:
    """Parse texts and cache the results, up to the first one that is too expensive."""
    results: dict[bytes, ParseResult] = {}
    with _process_slots:
        lines = _run_parser([(text.suffix, text.text) for text in missing_texts.values()])
    for (key, text), line in zip(missing_texts.items(), lines, strict=False):
        results[key] = _parse_line(text, line)
    for key, text in missing_texts.items():
        if key not in results:  # the one at which the process ended
            results[key] = ParseResult({}, _describe_excess(), len(text.text))
            break
    for key, result in results.items():
        _cache.put(key, result)
    # Later texts were not parsed; ``parse_texts`` raises the earlier text's problem first.
    unread_result = ParseResult({}, "it was not read.", 0)
    return {key: results.get(key, unread_result) for key in missing_texts}


def _run_parser(texts: list[tuple[str, str]]) -> list[bytes]:
    """Return the lines that the process printed before it ended, or was killed.

    The process bounds what it prints by the sizes of the texts.
    """
    limits = {
        "bytes": MAX_MEMORY_BYTES,
        "seconds": MAX_CPU_SECONDS,
        "levels": size_limits.MAX_DEPTH,
        "values": size_limits.MAX_VALUES,
    }
    job = json.dumps({"packages": _PACKAGES_FOLDER, "limits": limits, "texts": texts}).encode()
    try:
        process = subprocess.run(  # noqa: S603  this Python, a file of ours
            [sys.executable, "-I", "-S", str(Path(toml_process.__file__))],
            input=job,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            timeout=MAX_WALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as timeout:
        return (timeout.stdout or b"").splitlines(keepends=True)
    except OSError as error:
        raise InvalidConfigFile(
            f"The configuration cannot be parsed now: {error.strerror}."
        ) from error
    return process.stdout.splitlines(keepends=True)


def _parse_line(text: ConfigText, line: bytes) -> ParseResult:
    try:
        result = json.loads(line)
    except ValueError:  # it ended in the middle of the line
        return ParseResult({}, _describe_excess(), len(text.text))
    values = db_text.clean_json(result.get("values", {}))
    problem = db_text.clean_text(result.get("problem", ""))
    return ParseResult(values, problem, len(text.text) + len(line), result.get("count", 0))


def _describe_excess() -> str:
    return (
        f"it takes more than {MAX_CPU_SECONDS} s or {MAX_MEMORY_BYTES // 1024 // 1024} MiB "
        "to be parsed."
    )

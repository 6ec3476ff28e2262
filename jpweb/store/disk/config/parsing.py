"""Files of a configuration as values: parsed once for each content, in a process of its own.

What a parser does with a hostile text is bounded there in time and memory, and costs the serving
process nothing. Results, problems too, are remembered by the hash of the content.
"""

from __future__ import annotations

import copy
import hashlib
import json
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import Any, NamedTuple

from jpweb.store import plain
from jpweb.store.disk.config import bounds, parser
from jpweb.store.errors import BadFile

#: What the files that are parsed together may cost.
MAX_CPU_SECONDS, MAX_WALL_SECONDS, MAX_MEMORY_BYTES = 5, 30, 512 * 1024 * 1024
MAX_PROCESSES = 2
#: Bytes of texts whose values are remembered.
MAX_REMEMBERED_BYTES = 4 * 1024 * 1024


class Text(NamedTuple):
    """A file's text, and what people know it by."""

    name: str
    suffix: str
    text: str

    @property
    def key(self) -> bytes:
        return hashlib.sha256(f"{self.suffix}\n{self.text}".encode()).digest()


class _Parsed(NamedTuple):
    """What came of a text: its values, or why there are none."""

    values: dict[str, Any]
    problem: str
    size: int
    pattern_count: int = 0


class _Memory:
    """The newest results, by the hash of their texts."""

    def __init__(self) -> None:
        self._results: OrderedDict[bytes, _Parsed] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def get(self, key: bytes) -> _Parsed | None:
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
            return self._results.get(key)

    def put(self, key: bytes, parsed: _Parsed) -> None:
        with self._lock:
            if key not in self._results:
                self._size += parsed.size
            self._results[key] = parsed
            while self._size > MAX_REMEMBERED_BYTES and len(self._results) > 1:
                self._size -= self._results.popitem(last=False)[1].size


_memory = _Memory()
_room = BoundedSemaphore(MAX_PROCESSES)


def parse(name: str, text: str) -> dict[str, Any]:
    """Return the values of a TOML text, the caller's own. Raises BadFile, which names the line."""
    (values,) = parse_all([Text(name, ".toml", text)])
    return copy.deepcopy(values)


def parse_all(texts: Sequence[Text]) -> list[dict[str, Any]]:
    """Return the values of texts, which are not to be changed. Raises BadFile for the first bad."""
    keys = [text.key for text in texts]
    results = {key: parsed for key in keys if (parsed := _memory.get(key))}
    missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in results}
    for text in missing.values():
        if text.suffix == ".toml":
            bounds.check_depth(text.name, text.text)
    if missing:
        results |= _parse_new(missing)
    for key, text in zip(keys, texts, strict=True):
        if results[key].problem:
            raise BadFile(f"{text.name}: {results[key].problem}")
    if sum(results[key].pattern_count for key in keys) > bounds.MAX_TOTAL_VALUES:
        most = f"{bounds.MAX_TOTAL_VALUES:,}"
        raise BadFile(f"The configuration has more than {most} keys and items in its files.")
    return [results[key].values for key in keys]


def _parse_new(missing: dict[bytes, Text]) -> dict[bytes, _Parsed]:
    """Parse texts and remember the results, up to one that costs too much."""
    results: dict[bytes, _Parsed] = {}
    with _room:
        lines = _run([(text.suffix, text.text) for text in missing.values()])
    for (key, text), line in zip(missing.items(), lines, strict=False):
        results[key] = _read_line(text, line)
    for key, text in missing.items():
        if key not in results:  # the one at which the process ended
            results[key] = _Parsed({}, _too_dear(), len(text.text))
            break
    for key, parsed in results.items():
        _memory.put(key, parsed)
    # Those behind it were not looked at; its problem is told first.
    unread = _Parsed({}, "it was not read.", 0)
    return {key: results.get(key, unread) for key in missing}


def _run(texts: list[tuple[str, str]]) -> list[bytes]:
    """Return the lines that the process printed before it ended, or was ended."""
    limits = {
        "bytes": MAX_MEMORY_BYTES,
        "seconds": MAX_CPU_SECONDS,
        "levels": bounds.MAX_DEPTH,
        "values": bounds.MAX_VALUES,
    }
    order = json.dumps({"limits": limits, "texts": texts}).encode()
    try:
        done = subprocess.run(  # noqa: S603  this Python, a file of ours
            [sys.executable, "-I", "-S", str(Path(parser.__file__))],
            input=order,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            timeout=MAX_WALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").splitlines(keepends=True)
    except OSError as error:
        raise BadFile(f"The configuration cannot be parsed now: {error.strerror}.") from error
    return done.stdout.splitlines(keepends=True)


def _read_line(text: Text, line: bytes) -> _Parsed:
    try:
        made = json.loads(line)
    except ValueError:  # it ended in the middle of the line
        return _Parsed({}, _too_dear(), len(text.text))
    values = plain.deep(made.get("values", {}))
    problem = plain.text(made.get("problem", ""))
    return _Parsed(values, problem, len(text.text), made.get("count", 0))


def _too_dear() -> str:
    return (
        f"it takes more than {MAX_CPU_SECONDS} s or {MAX_MEMORY_BYTES // 1024 // 1024} MiB "
        "to be parsed."
    )

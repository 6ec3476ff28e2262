"""Notes what the processes of a server do in one go: rows that a transaction changes, and parsers.

Python imports a ``sitecustomize`` at the start of each process. It reads the statements of SQLite
connections by their trace callback, and the programs that are started by an audit hook (PEP 578).
The files of ``coverage``, which runs in these processes under ``make proof``, are not of interest.
"""

from __future__ import annotations

from pathlib import Path

_HOOK = """
import os, sqlite3, sqlite3.dbapi2, sys

_NOTES = os.open({notes!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
_connect = sqlite3.connect

def _note(line):
    os.write(_NOTES, (line + "\\n").encode())

def connect(database, *given, **options):
    line = _connect(database, *given, **options)
    if os.path.basename(database).startswith(".coverage"):
        return line
    changes, writes = line.total_changes, {{}}

    def trace(statement):
        nonlocal changes
        if statement.startswith("BEGIN"):
            changes = line.total_changes
            writes.clear()
        elif statement.startswith("COMMIT"):
            _note(f"rows {{line.total_changes - changes}} {{writes}}")
        elif statement.startswith(("INSERT", "UPDATE", "DELETE")):
            words = statement[:40].replace("\\n", " ")
            writes[words] = writes.get(words, 0) + 1

    line.set_trace_callback(trace)
    return line

def _audit(event, details):
    if event == "subprocess.Popen" and any("toml_process" in str(word) for word in details[1]):
        _note("parser")

sqlite3.connect = sqlite3.dbapi2.connect = connect
sys.addaudithook(_audit)
"""


class Effort:
    """The notes of one server; ``settings`` are those that it has to be started with."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._notes = folder / "notes.txt"
        (folder / "sitecustomize.py").write_text(_HOOK.format(notes=str(self._notes)))
        self.settings = {"PYTHONPATH": str(folder)}

    def find_largest_transaction(self) -> tuple[int, str]:
        """Return how many rows a transaction has changed at most, and its writes."""
        lines = self._notes.read_text().splitlines()
        transactions = (line.split(" ", 2) for line in lines if line.startswith("rows"))
        return max((int(row_count), writes) for _, row_count, writes in transactions)

    def count_parsers(self) -> int:
        """Return how many processes were started to parse configurations."""
        return self._notes.read_text().splitlines().count("parser")

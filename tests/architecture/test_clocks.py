"""One clock, the database's, for everything that is compared, waited for or recorded."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.tree import ROOT

#: What reads the machine's clock.
READS = {
    ("timezone", "now"),
    ("datetime", "now"),
    ("datetime", "utcnow"),
    ("datetime", "today"),
    ("date", "today"),
    ("time", "time"),
    ("time", "time_ns"),
}
#: What is in the text of a file that does.
READING = re.compile("|".join(rf"\.\s*{name}\b" for _, name in READS))
#: Files that may, and why.
MAY = {
    "jpweb/store/database/clock.py": "it is the database's clock where there is no server",
    "jpweb/agent/event_writer.py": "a default of tests; the runtime gives turns the database's",
}


def readings(path: Path) -> Iterator[int]:
    """Yield the lines of a file that read the machine's clock."""
    text = path.read_text()
    if not READING.search(text):  # parsing all modules takes 1.4 s
        return
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Attribute(ast.Name(module), name) if (module, name) in READS:
                yield node.lineno
            case _:
                pass


def test_machine_clock_is_read_in_one_place():
    matches = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / "jpweb").rglob("*.py"))
        if str(path.relative_to(ROOT)) not in MAY and "migrations" not in path.parts
        for line in readings(path)
    ]
    assert matches == [], "use jpweb.store.database.clock.now"


def test_exceptions_exist_and_read_the_clock():
    assert [name for name in MAY if not list(readings(ROOT / name))] == []

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.machine.templates import SQLITE_FILE, copy_migrated_sqlite


def test_copy_migrated_sqlite_leaves_an_existing_database_alone(tmp_path: Path):
    copy_migrated_sqlite(tmp_path)
    with closing(sqlite3.connect(tmp_path / SQLITE_FILE)) as database:
        assert database.execute("SELECT count(*) FROM store_run").fetchone() == (0,)
    (tmp_path / SQLITE_FILE).write_text("somebody's")
    copy_migrated_sqlite(tmp_path)
    assert (tmp_path / SQLITE_FILE).read_text() == "somebody's"

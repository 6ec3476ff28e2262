from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.machine import templates
from tests.machine.templates import SQLITE_FILE, copy_migrated_sqlite


def test_copy_migrated_sqlite_leaves_an_existing_database_alone(tmp_path: Path):
    copy_migrated_sqlite(tmp_path)
    with closing(sqlite3.connect(tmp_path / SQLITE_FILE)) as database:
        assert database.execute("SELECT count(*) FROM store_run").fetchone() == (0,)
    (tmp_path / SQLITE_FILE).write_text("somebody's")
    copy_migrated_sqlite(tmp_path)
    assert (tmp_path / SQLITE_FILE).read_text() == "somebody's"


def test_begin_migrated_sqlite_makes_the_template_that_others_wait_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    def make_file(folder: Path) -> Path:
        assert make_is_released.wait(20)
        (folder / "made").touch()
        return folder / "made"

    make_is_released = threading.Event()
    monkeypatch.setenv(templates._FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr(templates, "_make_migrated_sqlite", make_file)
    templates.begin_migrated_sqlite()
    assert not (tmp_path / "sqlite").exists()
    make_is_released.set()
    monkeypatch.setattr(templates, "_own_folders", [])
    templates.remove_templates()
    assert (tmp_path / "sqlite").exists()

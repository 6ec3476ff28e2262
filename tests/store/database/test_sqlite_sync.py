"""Commits of SQLite that survive a power cut: they are synced before they are acknowledged."""

from __future__ import annotations

import runpy
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from jpweb import settings as file

#: Values of ``PRAGMA synchronous``.
NORMAL, FULL = 1, 2


def read_settings(monkeypatch: pytest.MonkeyPatch, folder: Path, sync: str | None) -> Any:
    monkeypatch.setenv("JPWEB_DATA", str(folder))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.delenv("JPWEB_SYNC", raising=False)
    if sync is not None:
        monkeypatch.setenv("JPWEB_SYNC", sync)
    assert file.__file__
    return runpy.run_path(file.__file__)


@pytest.mark.parametrize(("sync", "mode"), [(None, FULL), ("full", FULL), ("normal", NORMAL)])
def test_connection_syncs_every_commit_unless_the_operator_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sync: str | None, mode: int
):
    database = read_settings(monkeypatch, tmp_path, sync)["DATABASES"]["default"]
    with closing(sqlite3.connect(tmp_path / "any.sqlite3")) as line:
        line.executescript(database["OPTIONS"]["init_command"])
        assert line.execute("PRAGMA synchronous").fetchone() == (mode,)


def test_sync_of_macos_reaches_the_disk_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    database = read_settings(monkeypatch, tmp_path, "full")["DATABASES"]["default"]
    with closing(sqlite3.connect(tmp_path / "any.sqlite3")) as line:
        line.executescript(database["OPTIONS"]["init_command"])
        assert line.execute("PRAGMA fullfsync").fetchone() == (1,)
        assert line.execute("PRAGMA checkpoint_fullfsync").fetchone() == (1,)


def test_sync_that_is_none_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    with pytest.raises(ImproperlyConfigured, match="JPWEB_SYNC must be full or normal"):
        read_settings(monkeypatch, tmp_path, "off")

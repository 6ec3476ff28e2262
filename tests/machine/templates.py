"""Migrated databases to copy: migrating an empty one costs 2.3 s of processor time a server."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SQLITE_FILE = "jpweb.sqlite3"
_folders: list[Path] = []
_OURS = ("JPWEB_", "DATABASE_URL", "REDIS_URL")


def inherit_environment() -> dict[str, str]:
    """Return the environment of this process without the variables that set jpweb up."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}


def copy_migrated_sqlite(data: Path) -> None:
    """Put a migrated SQLite database into a data folder that has none yet."""
    target = data / SQLITE_FILE
    if target.exists():
        return
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copyfile(_make_migrated_sqlite(), target)


def migrate_database(environment: Mapping[str, str]) -> None:
    """Run ``manage.py migrate`` in a process. Raises CalledProcessError, its output printed."""
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
        cwd=ROOT,
        env={**inherit_environment(), **environment},
        stdin=subprocess.DEVNULL,
        check=True,
    )


@atexit.register
def remove_templates() -> None:
    """Remove what was made; pytest calls it too, since a worker of xdist runs no exit handlers."""
    while _folders:
        shutil.rmtree(_folders.pop(), ignore_errors=True)
    _make_migrated_sqlite.cache_clear()


@functools.cache
def _make_migrated_sqlite() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="jpweb-migrated-"))
    _folders.append(folder)
    migrate_database({"JPWEB_DATA": str(folder), "JPWEB_SECRET_KEY": "template"})
    assert not (folder / f"{SQLITE_FILE}-wal").exists(), "the template has to be in one file"
    return folder / SQLITE_FILE

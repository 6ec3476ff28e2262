"""Migrated databases to copy: migrating an empty one costs 9 s of processor time."""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SQLITE_FILE = "jpweb.sqlite3"
#: Environment variable: the folder of the templates that all processes of a run of tests share.
_FOLDER_VARIABLE = "JPWEB_TEST_TEMPLATES"
_own_folders: list[Path] = []
_OURS = ("JPWEB_", "DATABASE_URL", "REDIS_URL")
_early_makers: list[threading.Thread] = []
#: ``manage.py`` without the garbage collector, which took 3.6 of 12.6 s to migrate.
_MANAGE = (
    "import gc, runpy, sys; gc.disable(); sys.argv[0] = 'manage.py'; "
    "from tests.machine.suite.migrations import render_less; render_less(); "
    "runpy.run_path('manage.py', run_name='__main__')"
)


def inherit_environment() -> dict[str, str]:
    """Return the environment of this process without the variables that set jpweb up."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}


def copy_migrated_sqlite(data: Path, name: str = SQLITE_FILE) -> None:
    """Put a migrated SQLite database into a data folder that has none yet."""
    target = data / name
    if target.exists():
        return
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copyfile(make_once("sqlite", _make_migrated_sqlite), target)


def migrate_database(environment: Mapping[str, str]) -> None:
    """Run ``manage.py migrate`` in a process. Raises CalledProcessError, its output printed."""
    subprocess.run(
        [sys.executable, "-c", _MANAGE, "migrate", "--verbosity", "0"],
        cwd=ROOT,
        env={**inherit_environment(), **environment},
        stdin=subprocess.DEVNULL,
        check=True,
    )


def begin_migrated_sqlite() -> None:
    """Make the template of SQLite in a thread, for the processes that will ask for it.

    An error is theirs: they find no template and make it again.
    """

    def make() -> None:
        with suppress(subprocess.CalledProcessError):
            make_once("sqlite", _make_migrated_sqlite)

    _early_makers.append(threading.Thread(target=make))
    _early_makers[-1].start()


def share_templates() -> None:
    """Make the folder of templates, unless the process that started this one has."""
    if _FOLDER_VARIABLE not in os.environ:
        folder = Path(tempfile.mkdtemp(prefix="jpweb-templates-"))
        _own_folders.append(folder)
        os.environ[_FOLDER_VARIABLE] = str(folder)


@atexit.register
def remove_templates() -> None:
    """Remove what this process has made."""
    while _early_makers:
        _early_makers.pop().join()
    while _own_folders:
        shutil.rmtree(_own_folders.pop(), ignore_errors=True)
        os.environ.pop(_FOLDER_VARIABLE, None)


def make_once(name: str, make: Callable[[Path], Path]) -> Path:
    """Return the template of this name; the first process that asks makes it.

    ``make`` gets an empty folder, and returns the file or folder in it that is the template.
    """
    share_templates()
    folder = Path(os.environ[_FOLDER_VARIABLE])
    template = folder / name
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not template.exists():
            making = Path(tempfile.mkdtemp(prefix="jpweb-making-"))
            try:
                shutil.move(make(making), template)
            finally:
                shutil.rmtree(making, ignore_errors=True)
    return template


def _make_migrated_sqlite(folder: Path) -> Path:
    migrate_database({"JPWEB_DATA": str(folder), "JPWEB_SECRET_KEY": "template"})
    assert not (folder / f"{SQLITE_FILE}-wal").exists(), "the template is one file"
    return folder / SQLITE_FILE

"""The data folder is its user's alone, whatever made it, at the start of every command."""

from __future__ import annotations

import os
import runpy
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from jpweb import data_folder, installation
from jpweb import settings as settings_file
from jpweb.store.jp_files import directory_handles
from tests.machine.fixtures import ReadSettings
from tests.machine.sizes import mark_proof
from tests.machine.templates import ROOT, inherit_environment


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def run(data: Path, *command: str, umask: int = 0o022) -> subprocess.CompletedProcess[str]:
    """Run a command as somebody does whose key and database are named by the environment."""
    env = {**inherit_environment(), "JPWEB_DATA": str(data), "JPWEB_SECRET_KEY": "only-for-tests"}
    env.pop("DATABASE_URL", None)
    env.pop("JPWEB_USER_UMASK", None)
    return subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env=env,
        umask=umask,
        capture_output=True,
        text=True,
        check=False,
    )


def open_to_all(folder: Path) -> list[Path]:
    return [path for path in (folder, *folder.rglob("*")) if mode(path) & 0o077]


def test_close_takes_every_right_of_others_and_follows_no_link(tmp_path: Path):
    outside_folder, data = tmp_path / "outside", tmp_path / "data"
    outside_folder.mkdir()
    (outside_folder / "file").write_text("theirs")
    (data / "team").mkdir(parents=True)
    for name in ("jpweb.sqlite3", "jpweb.sqlite3-wal", "secret-key", "team/lock"):
        (data / name).write_text("ours")
    (data / "away").symlink_to(outside_folder)
    os.mkfifo(data / "pipe")
    for path in (outside_folder, outside_folder / "file", *data.rglob("*"), data):
        path.chmod(0o777)
    mended = data_folder.close_folder(data)
    assert len(mended) == 7
    assert open_to_all(data) == [data / "away"]
    assert (mode(outside_folder), mode(outside_folder / "file")) == (0o777, 0o777)
    assert mode(data / "secret-key") == 0o700
    assert data_folder.close_folder(data) == []
    assert data_folder.close_folder(tmp_path / "missing") == []


@pytest.mark.parametrize("exists", [True, *mark_proof(False)])
def test_migrate_closes_a_folder_that_is_open_or_missing(tmp_path: Path, exists: bool):
    data = tmp_path / "deep" / "data"
    if exists:
        data.mkdir(parents=True)
        data.chmod(0o755)
        (data / "jpweb.sqlite3").touch(mode=0o644)
    result = run(data, "migrate", "store", "0001", "--verbosity", "0")
    assert result.returncode == 0, result.stderr
    assert open_to_all(data) == []
    warnings = [line for line in result.stderr.splitlines() if "open to other users" in line]
    assert len(warnings) == (1 if exists else 0)


def test_settings_of_a_command_make_a_folder_that_is_missing(
    tmp_path: Path, read_settings: ReadSettings
):
    data = tmp_path / "deep" / "data"
    for _ in range(2):
        assert read_settings(JPWEB_DATA=str(data))["DATA_DIR"] == data
        assert (mode(data.parent), mode(data)) == (0o700, 0o700)


def test_empty_data_variable_is_unset_and_leaves_the_working_folder_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "file"
    file.touch()
    file.chmod(0o644)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JPWEB_DATA", "")
    monkeypatch.setattr(installation, "find_default_data_dir", lambda: tmp_path / "data")
    assert settings_file.__file__
    values = runpy.run_path(settings_file.__file__)
    assert values["DATA_DIR"] == tmp_path / "data"
    assert mode(file) == 0o644


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    result = run(tmp_path / "file" / "data", "migrate")
    assert result.returncode == 1
    assert result.stderr.startswith("jpweb: JPWEB_DATA cannot be used: ")
    assert result.stderr.count("\n") == 1


def test_tool_files_have_the_umask_of_the_user(tmp_path: Path):
    code = (
        "import asyncio, os, pathlib, django; django.setup()\n"
        "from jpweb.agent.tools.local.subprocess_runner import ProcessLimits, run_program\n"
        f"here = pathlib.Path({str(tmp_path)!r})\n"
        "asyncio.run(run_program(['touch', 'by-tool'], here, dict(os.environ), ProcessLimits()))\n"
        "(here / 'by-jpweb').touch()\n"
    )
    env = {
        **inherit_environment(),
        "JPWEB_SECRET_KEY": "only-for-tests",
        "JPWEB_DATA": str(tmp_path / "data"),
        "DJANGO_SETTINGS_MODULE": "jpweb.settings",
    }
    env.pop("JPWEB_USER_UMASK", None)
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, umask=0o027, check=True)
    assert (mode(tmp_path / "by-tool"), mode(tmp_path / "by-jpweb")) == (0o640, 0o600)


def test_workspace_files_have_the_umask_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(data_folder, "USER_UMASK", 0o027)
    directory_handles.make_directory(tmp_path / "folder")
    directory_handles.make_directory(tmp_path / "folder")
    directory_handles.write_file(tmp_path / "file", b"")
    assert (mode(tmp_path / "folder"), mode(tmp_path / "file")) == (0o750, 0o640)

from __future__ import annotations

import shutil
import stat
import subprocess
from pathlib import Path

from jpweb.agent.tools.local.private_file import open_private_file, sweep_private_files


def test_private_file_is_readable_by_its_user_only_and_removed():
    with open_private_file("ä") as path:
        assert path.read_text(encoding="utf-8") == "ä"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not path.parent.exists()


def test_private_file_without_a_memory_folder_uses_the_temp_folder(tmp_path):
    with open_private_file("x", tmp_path / "none") as path:
        assert path.read_text() == "x"
    with open_private_file("x", tmp_path) as path:
        assert path.parent.parent == tmp_path


def test_a_file_that_the_tool_has_removed_is_no_matter():
    with open_private_file("x") as path:
        path.unlink()
        path.parent.rmdir()


def dead() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_sweep_private_files_keeps_links_and_files(tmp_path):
    number = dead()
    folder = tmp_path / "kept"
    folder.mkdir()
    link, dangling = tmp_path / f"jpweb-{number}-a", tmp_path / f"jpweb-{number}-b"
    link.symlink_to(folder)
    dangling.symlink_to(tmp_path / "nowhere")
    file = tmp_path / f"jpweb-{number}-c"
    file.touch()
    assert sweep_private_files(tmp_path) == 0
    assert folder.exists()
    assert file.exists()
    assert (link.is_symlink(), dangling.is_symlink()) == (True, True)


def test_a_folder_that_vanishes_meanwhile_does_not_stop_the_sweep(tmp_path, monkeypatch):
    number = dead()
    for name in "abc":
        (tmp_path / f"jpweb-{number}-{name}").mkdir()
    real_lstat = Path.lstat

    def lstat(self) -> object:
        if self.name.endswith("-b") and self.exists():
            shutil.rmtree(self)
        return real_lstat(self)

    monkeypatch.setattr(Path, "lstat", lstat)
    assert sweep_private_files(tmp_path) == 2
    assert list(tmp_path.iterdir()) == []


def test_sweep_private_files_of_a_missing_folder_removes_nothing(tmp_path):
    assert sweep_private_files(tmp_path / "none") == 0


def test_sweep_private_files_removes_only_folders_of_dead_processes(tmp_path):
    process = subprocess.Popen(["true"])
    process.wait()
    stale_folder, strange = tmp_path / f"jpweb-{process.pid}-abc", tmp_path / "jpweb-else"
    for folder in (stale_folder, strange):
        folder.mkdir()
        (folder / "context.json").touch()
    with open_private_file("x", tmp_path) as path:
        assert sweep_private_files(tmp_path) == 1
        assert path.exists(), "its process lives"
    assert not stale_folder.exists()
    assert strange.exists(), "nobody knows whose it is"

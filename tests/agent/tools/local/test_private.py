from __future__ import annotations

import stat
import subprocess

from jpweb.agent.tools.local.private import private_file, sweep


def test_the_file_is_this_users_alone_and_goes_with_the_block():
    with private_file("ä") as path:
        assert path.read_text(encoding="utf-8") == "ä"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not path.parent.exists()


def test_without_a_folder_in_memory_the_usual_one_is_taken(tmp_path):
    with private_file("x", tmp_path / "none") as path:
        assert path.read_text() == "x"
    with private_file("x", tmp_path) as path:
        assert path.parent.parent == tmp_path


def test_a_file_that_the_tool_has_removed_is_no_matter():
    with private_file("x") as path:
        path.unlink()
        path.parent.rmdir()


def test_what_a_killed_process_left_is_swept_and_nothing_else(tmp_path):
    gone = subprocess.Popen(["true"])
    gone.wait()
    left, strange = tmp_path / f"jpweb-{gone.pid}-abc", tmp_path / "jpweb-else"
    for folder in (left, strange):
        folder.mkdir()
        (folder / "context.json").touch()
    with private_file("x", tmp_path) as path:
        assert sweep(tmp_path) == 1
        assert path.exists(), "its process lives"
    assert not left.exists()
    assert strange.exists(), "nobody knows whose it is"

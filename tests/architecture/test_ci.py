"""``.ci/run`` and ``make check``: what a machine lacks, or has set, changes nothing silently."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from tests.architecture.tree import ROOT, read_text

#: A settings' variable of the caller, and an option of the tests.
CALLER = {"DATABASE_URL": "postgres://x", "JPWEB_RUNS": "workers", "JPWEB_CHAOS_SEED": "7"}


def write_program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def run_ci(tmp_path: Path, **variables: str) -> str:
    """Return what the script prints where ``make`` prints its variables, and git is missing."""
    for name in ("bash", "dirname"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    for name, script in {"make": "export -p", "python3": "exit 0", "apt-get": 'echo "$@"'}.items():
        write_program(tmp_path / name, script)
    result = subprocess.run(
        ["bash", ROOT / ".ci" / "run"],
        env={"PATH": str(tmp_path), **variables},
        check=True,
        capture_output=True,
        text=True,
    )
    return result.stdout


def test_ci_installs_git_and_leaves_out_the_settings_of_its_caller(tmp_path: Path):
    output = run_ci(tmp_path, **CALLER)
    assert re.search(r"^install .* git$", output, re.MULTILINE)
    assert "JPWEB_CHAOS_SEED" in output
    assert "DATABASE_URL" not in output
    assert "JPWEB_RUNS" not in output


def test_ci_takes_the_python_that_its_caller_names(tmp_path: Path):
    assert re.search(r"PYTHON=.?python3.?$", run_ci(tmp_path, PYTHON="python3"), re.MULTILINE)


def test_check_fails_where_git_lists_no_templates():
    recipe = re.search(r"^check: \.venv.*\n\t@?(.*)", read_text(Path("Makefile")), re.MULTILINE)
    assert recipe is not None

    def run_first_line(**variables: str) -> int:
        command = ["sh", "-c", recipe[1]]
        environment = os.environ | variables
        return subprocess.run(
            command, cwd=ROOT, env=environment, check=False, capture_output=True
        ).returncode

    assert run_first_line() == 0
    assert run_first_line(GIT_DIR="/nonexistent") != 0

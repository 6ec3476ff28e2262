"""The commands that ``docs/operations.md`` has people upgrade with."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.machine.serving import ROOT

#: Every wheel of jpweb has this version until a release.
WHEEL = "jpweb-0.1.0-py3-none-any.whl"
INFO = "jpweb-0.1.0.dist-info"


def write_wheel(folder: Path, text: str) -> None:
    """Write a wheel of jpweb that holds one module with a text."""
    folder.mkdir()
    with zipfile.ZipFile(folder / WHEEL, "w") as wheel:
        wheel.writestr("jpweb/__init__.py", text)
        wheel.writestr(f"{INFO}/METADATA", "Metadata-Version: 2.1\nName: jpweb\nVersion: 0.1.0\n")
        wheel.writestr(
            f"{INFO}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{INFO}/RECORD", "")


def read_commands() -> list[list[str]]:
    """Return the arguments of each ``pip`` that the section on upgrades has."""
    page = (ROOT / "docs" / "operations.md").read_text()
    section = page.partition("\n## Upgrade\n")[2].partition("\n## ")[0]
    return [shlex.split(line) for line in re.findall(r"^pip (.*)", section, re.MULTILINE)]


def run_pip(python: Path, folder: Path, arguments: list[str]) -> None:
    """Run pip on an environment in the folder of a wheel, without a network."""
    paths = {"jpweb-*.whl": WHEEL, "constraints.txt": str(ROOT / "constraints.txt")}
    command = [sys.executable, "-m", "pip", "--python", str(python), *arguments, "--no-index"]
    subprocess.run(
        [paths.get(argument, argument) for argument in command],
        cwd=folder,
        check=True,
        capture_output=True,
    )


@pytest.mark.proof  # 3 s of processor: pip alone; only the page or pip changes it
def test_documented_upgrade_replaces_a_jpweb_of_the_same_version(tmp_path: Path):
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False)
    commands = read_commands()
    assert commands
    for name, steps in (("first", commands[:1]), ("second", commands)):
        write_wheel(tmp_path / name, f"# {name}")
        for arguments in steps:
            run_pip(environment / "bin" / "python", tmp_path / name, arguments)
    (module,) = environment.glob("lib/python*/site-packages/jpweb/__init__.py")
    assert module.read_text() == "# second"

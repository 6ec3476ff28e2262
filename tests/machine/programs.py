"""Programs that the tests run: looked for, installed where that is possible, else named.

In this order: the environment variable that names one; the machine; Debian's package, when root;
the library's own download. What is still missing then is one line, and a failed test.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from jpweb.cli.local_cluster import binaries
from jpweb.cli.local_cluster.binaries import MissingProgram, Program, find_program
from tests.machine.sizes import IS_PROOF


@dataclass(frozen=True, slots=True)
class Wanted:
    """A program that tests need; ``variable`` may name one, and its library may fetch one."""

    program: Program
    variable: str
    download: tuple[str, ...] = ()


FULL_CHROMIUM = Wanted(
    Program(
        title="Chromium",
        names=("chromium", "chromium-browser", "google-chrome", "chrome"),
        package="chromium",
    ),
    "JPWEB_TEST_CHROMIUM",
    ("playwright", "install", "chromium"),
)
#: Chromium without a window system: a page takes a third of the processor time. Where Debian's
#: package cannot be installed, Playwright's full Chromium takes its place.
HEADLESS_CHROMIUM = Wanted(
    Program(
        title="Chromium (headless shell)",
        names=("chromium-headless-shell", "chrome-headless-shell"),
        package="chromium-headless-shell",
    ),
    "JPWEB_TEST_CHROMIUM",
    ("playwright", "install", "chromium"),
)
CHROMIUM = FULL_CHROMIUM if IS_PROOF else HEADLESS_CHROMIUM
POSTGRES = Wanted(binaries.POSTGRES, "JPWEB_TEST_POSTGRES")
REDIS = Wanted(binaries.REDIS, "JPWEB_TEST_REDIS")
#: A library, not a program: it is loaded into a process whose clock it shifts.
FAKETIME = Wanted(
    Program(
        title="libfaketime",
        names=("libfaketimeMT.so.1",),
        package="libfaketime",
        folders=("usr/lib/*/faketime", "usr/lib/faketime"),
    ),
    "JPWEB_TEST_FAKETIME",
)
WANTED = (CHROMIUM, POSTGRES, REDIS, FAKETIME)


@functools.cache
def ensure_program(requirement: Wanted) -> Path:
    """Return the program's path, installing it if need be. Raises Missing."""
    program = requirement.program
    value = os.environ.get(requirement.variable)
    if value:
        return _named(requirement, Path(value))
    path = find_program(program)
    if path is None and shutil.which("apt-get") and os.geteuid() == 0:
        path = _from_debian(program)
    if path is None and requirement.download:
        path = _downloaded(requirement)
    if path is None:
        raise MissingProgram(
            f"{program.title} is missing: apt-get install {program.package}, "
            f"or name one in {requirement.variable}"
        )
    return path


def _named(requirement: Wanted, path: Path) -> Path:
    """Take a file, or a folder that holds one of the names."""
    names = requirement.program.names
    for candidate in (path, *(path / name for name in names)):
        if candidate.is_file() and (requirement == FAKETIME or os.access(candidate, os.X_OK)):
            return candidate
    raise MissingProgram(f"{requirement.variable} names {path}, where no {names[0]} is")


def _from_debian(program: Program) -> Path | None:
    # In run level 1 Debian's packages do not start their services.
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    _say(f"installing Debian's {program.package} ...")
    _refresh()
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", program.package]
    result = _run(install, env=quiet)
    if result.returncode:
        _say(result.stderr.strip())
    return find_program(program)


@functools.cache
def _refresh() -> None:
    _run(["apt-get", "update", "-qq"])


def _downloaded(requirement: Wanted) -> Path | None:
    """Let Playwright fetch its own browser, unless it did before."""
    expected = _playwright_chromium()
    if expected.is_file():
        return expected
    _say(f"downloading {requirement.program.title}: {' '.join(requirement.download)} ...")
    _run([sys.executable, "-m", *requirement.download])
    return expected if expected.is_file() else None


def _playwright_chromium() -> Path:
    """Ask in a process of its own: Playwright leaves its event loop in the thread."""
    script = (
        "from playwright.sync_api import sync_playwright\n"
        "with sync_playwright() as p: print(p.chromium.executable_path)"
    )
    return Path(_run([sys.executable, "-c", script]).stdout.strip() or "nowhere")


def _run(command: list[str], env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def compute_niceness(increment: int) -> int:
    """Return the niceness of a process that is nicer than this one by an increment.

    The highest one is 19: beside other work the tests may run niced themselves.
    """
    return min(os.getpriority(os.PRIO_PROCESS, 0) + increment, 19)

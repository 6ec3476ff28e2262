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


class Missing(Exception):
    """A program is not here and could not be had; the text is one line for people."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program by its names; ``folders`` are patterns under ``/`` besides the PATH."""

    title: str
    variable: str
    names: tuple[str, ...]
    package: str
    folders: tuple[str, ...] = ()
    download: tuple[str, ...] = ()


CHROMIUM = Program(
    title="Chromium",
    variable="JPWEB_TEST_CHROMIUM",
    names=("chromium", "chromium-browser", "google-chrome", "chrome"),
    package="chromium",
    download=("playwright", "install", "chromium"),
)
POSTGRES = Program(
    title="PostgreSQL",
    variable="JPWEB_TEST_POSTGRES",
    names=("initdb",),
    folders=("usr/lib/postgresql/*/bin",),
    package="postgresql",
)
REDIS = Program(
    title="Redis",
    variable="JPWEB_TEST_REDIS",
    names=("redis-server", "valkey-server"),
    package="redis-server",
)
PROGRAMS = (CHROMIUM, POSTGRES, REDIS)


@functools.cache
def find(program: Program) -> Path:
    """Return the program's path, installing it if need be. Raises Missing."""
    named = os.environ.get(program.variable)
    if named:
        return _named(program, Path(named))
    found = _on_machine(program)
    if found is None and shutil.which("apt-get") and os.geteuid() == 0:
        found = _from_debian(program)
    if found is None and program.download:
        found = _downloaded(program)
    if found is None:
        raise Missing(
            f"{program.title} is missing: apt-get install {program.package}, "
            f"or name one in {program.variable}"
        )
    return found


def _named(program: Program, path: Path) -> Path:
    """Take a file, or a folder that holds one of the names."""
    for candidate in (path, *(path / name for name in program.names)):
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    raise Missing(f"{program.variable} names {path}, where no {program.names[0]} is")


def _on_machine(program: Program) -> Path | None:
    for name in program.names:
        on_path = shutil.which(name)
        if on_path:
            return Path(on_path)
        for folder in program.folders:
            for candidate in sorted(Path("/").glob(f"{folder}/{name}"), reverse=True):
                return candidate
    return None


def _from_debian(program: Program) -> Path | None:
    # In run level 1 Debian's packages do not start their services.
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    _say(f"installing Debian's {program.package} ...")
    _refresh()
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", program.package]
    done = _run(install, env=quiet)
    if done.returncode:
        _say(done.stderr.strip())
    return _on_machine(program)


@functools.cache
def _refresh() -> None:
    _run(["apt-get", "update", "-qq"])


def _downloaded(program: Program) -> Path | None:
    """Let Playwright fetch its own browser, unless it did before."""
    expected = _playwright_chromium()
    if expected.is_file():
        return expected
    _say(f"downloading {program.title}: {' '.join(program.download)} ...")
    _run([sys.executable, "-m", *program.download])
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

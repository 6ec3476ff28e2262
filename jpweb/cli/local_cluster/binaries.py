"""Finds the programs that a local cluster needs on this machine."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path


class MissingProgram(Exception):
    """A program is not installed; the message is one line that says how to install it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program by its names; ``folders`` are glob patterns under ``/`` besides the PATH."""

    title: str
    names: tuple[str, ...]
    package: str
    folders: tuple[str, ...] = ()


POSTGRES = Program(
    title="PostgreSQL",
    names=("initdb",),
    package="postgresql",
    folders=("usr/lib/postgresql/*/bin",),
)
REDIS = Program(title="Redis", names=("redis-server", "valkey-server"), package="redis-server")


def find_program(program: Program) -> Path | None:
    """Return the path of a program, or None; of several versions the newest."""
    for name in program.names:
        on_path = shutil.which(name)
        if on_path:
            return Path(on_path)
        for folder in program.folders:
            matches = Path("/").glob(f"{folder}/{name}")
            newest_path = max(matches, key=lambda path: (len(str(path)), str(path)), default=None)
            if newest_path is not None:
                return newest_path
    return None


def find_programs(*programs: Program) -> list[Path]:
    """Return the paths of programs. Raises MissingProgram, which names all that are missing."""
    paths = {program: find_program(program) for program in programs}
    missing_programs = [program for program, path in paths.items() if path is None]
    if missing_programs:
        titles = " and ".join(program.title for program in missing_programs)
        packages = " ".join(program.package for program in missing_programs)
        verb = "is" if len(missing_programs) == 1 else "are"
        raise MissingProgram(f"{titles} {verb} missing: apt-get install {packages}")
    return [path for path in paths.values() if path is not None]

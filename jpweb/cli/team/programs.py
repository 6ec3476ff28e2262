"""The programs that a team's jpweb stands on, looked for on this machine."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path


class Missing(Exception):
    """A program is not here; the text is one line that says how to get it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program by its names; ``folders`` are patterns under ``/`` besides the PATH."""

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


def on_machine(program: Program) -> Path | None:
    """Return the program's path, where it is here; of several versions the newest."""
    for name in program.names:
        on_path = shutil.which(name)
        if on_path:
            return Path(on_path)
        for folder in program.folders:
            found = Path("/").glob(f"{folder}/{name}")
            newest = max(found, key=lambda path: (len(str(path)), str(path)), default=None)
            if newest is not None:
                return newest
    return None


def found(*programs: Program) -> list[Path]:
    """Return the paths of programs. Raises Missing, which names all that are not here."""
    paths = {program: on_machine(program) for program in programs}
    missing = [program for program, path in paths.items() if path is None]
    if missing:
        titles = " and ".join(program.title for program in missing)
        packages = " ".join(program.package for program in missing)
        verb = "is" if len(missing) == 1 else "are"
        raise Missing(f"{titles} {verb} missing: apt-get install {packages}")
    return [path for path in paths.values() if path is not None]

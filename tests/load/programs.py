"""Server programs of the benchmarks, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from tests.machine.ports import end_process, free_port
from tests.machine.templates import ROOT, inherit_environment


@dataclass(frozen=True, slots=True)
class Program:
    """A running server program."""

    pid: int
    port: int


@contextmanager
def run_program(module: str, database: Path) -> Iterator[Program]:
    """Run ``python -m MODULE PORT`` until the context ends; it prints ``ready`` once it serves.

    The folder of ``use_database`` is its data folder.
    """
    port = free_port()
    environment = inherit_environment() | {
        "JPWEB_DATA": str(database.parent),
        "DATABASE_URL": f"sqlite:///{database}",
        "JPWEB_SECRET_KEY": settings.SECRET_KEY,  # the sessions in the database are signed with it
        "JPWEB_SCRIPT_PACE_SECONDS": "0",
        "DJANGO_SETTINGS_MODULE": "jpweb.settings",
    }
    command = [sys.executable, "-m", module, str(port)]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if line != b"ready\n":
                raise RuntimeError(f"{module} ended before it served; it printed {line!r}")
            yield Program(process.pid, port)
        finally:
            end_process(process)

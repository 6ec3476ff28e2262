"""``python -m tests.machine``: find or install everything before the tests, visibly."""

from __future__ import annotations

import sys

from jpweb.cli.local_cluster.binaries import MissingProgram
from tests.machine.programs import WANTED, ensure_program


def main() -> int:
    missing = 0
    for requirement in WANTED:
        try:
            print(f"{requirement.program.title}: {ensure_program(requirement)}", flush=True)
        except MissingProgram as error:
            print(error, file=sys.stderr)
            missing += 1
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())

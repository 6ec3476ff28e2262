"""``python -m tests.machine``: find or install everything before the tests, visibly."""

from __future__ import annotations

import sys

from jpweb.cli.local_cluster.binaries import MissingProgram
from tests.machine.programs import WANTED, ensure_program


def main() -> int:
    missing_count = 0
    for requirement in WANTED:
        try:
            print(f"{requirement.program.title}: {ensure_program(requirement)}", flush=True)
        except MissingProgram as error:
            print(error, file=sys.stderr)
            missing_count += 1
    return 1 if missing_count else 0


if __name__ == "__main__":
    sys.exit(main())

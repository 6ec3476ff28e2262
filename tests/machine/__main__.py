"""``python -m tests.machine``: find or install everything before the tests, visibly."""

from __future__ import annotations

import sys

from tests.machine.programs import PROGRAMS, Missing, find


def main() -> int:
    missing = 0
    for program in PROGRAMS:
        try:
            print(f"{program.title}: {find(program)}", flush=True)
        except Missing as error:
            print(error, file=sys.stderr)
            missing += 1
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())

"""Machines whose clocks are wrong: libfaketime shifts the clock of one process."""

from __future__ import annotations

from pathlib import Path

from tests.machine.programs import FAKETIME, ensure_program

#: What Python imports at the start of such a process.
STARTUP = Path(__file__).parent / "startup"


def shift_clock(minutes: int) -> dict[str, str]:
    """Return the environment of a process whose clock is so many minutes ahead."""
    return {
        "LD_PRELOAD": str(ensure_program(FAKETIME)),
        "FAKETIME": f"{minutes:+d}m",
        # Timeouts count on the monotonic clock, which no machine gets wrong.
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
        "PYTHONPATH": str(STARTUP),
    }

"""Ports on loopback: one that is free, and waiting until something answers."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable
from itertools import count

LOOPBACK = "127.0.0.1"
#: Below the ephemeral ports (Linux: from 32768), which an outgoing connection may take between
#: the check of a port and its use.
FIRST_PORT, LAST_PORT = 20_000, 32_000
#: Processes start at different offsets, and a process returns a port once.
_offsets = count(os.getpid() * 97)


def free_port() -> int:
    """Return a port that nobody listens on now. Raises OSError where there is none."""
    for _ in range(FIRST_PORT, LAST_PORT):
        port = FIRST_PORT + next(_offsets) % (LAST_PORT - FIRST_PORT)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
            return port
    raise OSError(f"no port from {FIRST_PORT} to {LAST_PORT} is free")


def is_accepting(port: int) -> bool:
    """Tell whether a connection to the port is accepted."""
    try:
        socket.create_connection((LOOPBACK, port), timeout=1).close()
    except OSError:
        return False
    return True


def wait_until(
    condition: Callable[[], object], description: str, seconds: float = 30, pause: float = 0.02
) -> None:
    """Poll until ``condition()`` is true. Raises AssertionError after ``seconds``.

    A condition that requests a page pauses three times as long as that took, so that it leaves
    the processor to what it waits for.
    """
    deadline = time.monotonic() + seconds
    while True:
        begun_at = time.monotonic()
        if condition():
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"{description}: not within {seconds:g} s")
        time.sleep(max(pause, 3 * (time.monotonic() - begun_at)))


def end_process(process: subprocess.Popen[bytes], seconds: float = 10) -> int:
    """Terminate the process, kill it if it stays; return its code."""
    if process.poll() is None:
        process.terminate()
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()

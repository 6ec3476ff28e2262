"""Ports on loopback: one that is free, and waiting until something answers."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable

from jpweb.cli.local_cluster.ports import find_free_port

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """Return a port that nobody listens on now."""
    return find_free_port(LOOPBACK)


def accepts(port: int) -> bool:
    """Tell whether a connection to the port is accepted."""
    try:
        socket.create_connection((LOOPBACK, port), timeout=1).close()
    except OSError:
        return False
    return True


def wait_until(
    holds: Callable[[], object], what: str, seconds: float = 30, pause: float = 0.02
) -> None:
    """Poll until ``holds()`` is true. Raises AssertionError after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {seconds:g} s")
        time.sleep(pause)


def end(process: subprocess.Popen[bytes], seconds: float = 10) -> int:
    """Terminate the process, kill it if it stays; return its code."""
    if process.poll() is None:
        process.terminate()
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()

"""Free TCP ports for the servers of a local cluster."""

from __future__ import annotations

import os
import socket
from itertools import count

#: Below the ephemeral ports (Linux: from 32768), which an outgoing connection may take between
#: the check of a port and its use.
FIRST_PORT, LAST_PORT = 20_000, 32_000

#: Processes start at different offsets, and a process returns a port once.
_offsets = count(os.getpid() * 97)


def find_free_port(host: str) -> int:
    """Return a port that nothing listens on. Raises OSError where there is none."""
    for _ in range(FIRST_PORT, LAST_PORT):
        port = FIRST_PORT + next(_offsets) % (LAST_PORT - FIRST_PORT)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return port
    raise OSError(f"no port from {FIRST_PORT} to {LAST_PORT} is free on {host}")

from __future__ import annotations

import socket

import pytest

from jpweb.cli.local_cluster import ports
from jpweb.cli.local_cluster.ports import FIRST_PORT, LAST_PORT, find_free_port
from tests.machine.ports import LOOPBACK


def test_find_free_port_stays_below_those_of_outgoing_connections():
    found = {find_free_port(LOOPBACK) for _ in range(50)}
    assert len(found) == 50
    assert min(found) >= FIRST_PORT
    assert max(found) < LAST_PORT < 32_768


def test_find_free_port_passes_over_one_that_is_listened_on(monkeypatch: pytest.MonkeyPatch):
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        listener.listen()
        taken = listener.getsockname()[1]
        monkeypatch.setattr(ports, "FIRST_PORT", taken)
        monkeypatch.setattr(ports, "LAST_PORT", taken + 1)
        with pytest.raises(OSError, match="no port from"):
            find_free_port(LOOPBACK)

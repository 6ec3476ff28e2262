"""A web process and a worker, in one."""

from __future__ import annotations

import pytest

from jpweb.runtime import desk, sealing
from jpweb.runtime.sealing import Courier
from tests.runtime.sealing.wire import WEB, WORKER, Wire


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing wait longer than a test should."""
    monkeypatch.setattr(sealing, "WAITS_WITHIN", 0.6)
    monkeypatch.setattr(sealing, "ACKNOWLEDGED_WITHIN", 0.3)
    monkeypatch.setattr(sealing, "LOOK_AGAIN", 0.02)


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
def web(wire: Wire) -> Courier:
    return wire.process(WEB)


@pytest.fixture
def worker(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> Courier:
    """The process in which the desk's calls wait."""
    made = wire.process(WORKER)
    monkeypatch.setattr(desk, "courier", made)
    return made

"""A web process and a worker, in one."""

from __future__ import annotations

import pytest

from jpweb.runtime import desk, sealing
from jpweb.runtime.sealing import Courier
from tests.runtime.sealing.wire import WEB, WORKER, Looks, Wire


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at rows more often than usual."""
    monkeypatch.setattr(sealing, "LOOK_AGAIN", 0.02)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a secret wait no longer than a test should, where nobody comes."""
    monkeypatch.setattr(sealing, "WAITS_WITHIN", 0.8)
    monkeypatch.setattr(sealing, "ACKNOWLEDGED_WITHIN", 0.4)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Looks:
    return Looks(monkeypatch)


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

"""A web process and a worker, in one."""

from __future__ import annotations

import pytest

from jpweb.runtime.inquiries import resolution, secret_channels
from jpweb.runtime.inquiries.secret_channels import SecretChannel
from tests.runtime.inquiries.secret_channel.wire import WEB, WORKER, Looks, ProcessWire


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at rows more often than usual."""
    monkeypatch.setattr(secret_channels, "ROW_POLL_SECONDS", 0.02)


@pytest.fixture
def short_secret_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a secret wait no longer than a test should, where nobody comes."""
    monkeypatch.setattr(secret_channels, "SECRET_TIMEOUT_SECONDS", 0.8)
    monkeypatch.setattr(secret_channels, "ACK_TIMEOUT_SECONDS", 0.4)


@pytest.fixture
def look_counter(monkeypatch: pytest.MonkeyPatch) -> Looks:
    return Looks(monkeypatch)


@pytest.fixture
def wire() -> ProcessWire:
    return ProcessWire()


@pytest.fixture
def web(wire: ProcessWire) -> SecretChannel:
    return wire.process(WEB)


@pytest.fixture
def worker(wire: ProcessWire, monkeypatch: pytest.MonkeyPatch) -> SecretChannel:
    """The process in which the desk's calls wait."""
    channel = wire.process(WORKER)
    monkeypatch.setattr(resolution, "secret_channel", channel)
    return channel

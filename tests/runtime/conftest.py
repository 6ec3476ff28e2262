"""One conversation with a run, and a channel layer of the test's own event loop."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from channels.layers import channel_layers

from jpweb.runtime.execution import run_executor
from jpweb.runtime.inquiries import approvals, resolution
from tests.runtime.playing import Scene


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Start each test with a fresh layer; leave nobody waiting and nothing running."""
    channel_layers.backends.clear()
    yield
    channel_layers.backends.clear()
    assert run_executor._active_runs == {}
    assert resolution.settlement_waiters.waiters_by_key == {}
    assert approvals.decision_waiters.waiters_by_key == {}
    assert resolution.handover._arrivals == {}


@pytest.fixture
def scene(transactional_db: None) -> Scene:
    return Scene()

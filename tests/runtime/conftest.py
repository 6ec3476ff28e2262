"""One conversation with a run, and a channel layer of the test's own event loop."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from channels.layers import channel_layers

from jpweb.runtime import desk, prompts
from jpweb.runtime.executing import holding
from tests.runtime.playing import Scene


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Start each test with a fresh layer; leave nobody waiting and nothing running."""
    channel_layers.backends.clear()
    yield
    channel_layers.backends.clear()
    assert holding._active == {}
    assert desk.bell.waiting == {}
    assert prompts.bell.waiting == {}
    assert desk.handover._waiting == {}


@pytest.fixture
def scene(transactional_db: None) -> Scene:
    return Scene()

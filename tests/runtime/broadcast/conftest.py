"""Nobody listens who did not ask to, and the layer is one of the test's own event loop."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jpweb.runtime.broadcast import channel_layer, local_bus
from jpweb.runtime.broadcast.invalid_messages import InvalidMessageLog


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave out whom the modules of the runtime subscribe; expect nobody to be left."""
    monkeypatch.setattr(local_bus, "_subscribers", {})
    monkeypatch.setattr(channel_layer, "_outage_log", channel_layer._OutageLog())
    monkeypatch.setattr(channel_layer, "_invalid_messages", InvalidMessageLog())
    yield
    assert not any(
        local_bus.list_topic_keys(subject) for subject in ("conversation", "workspace", "session")
    )

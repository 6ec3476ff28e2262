"""Nobody listens who did not ask to, and the layer is one of the test's own event loop."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jpweb.runtime.signals import fanout, relay


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave out whom the modules of the runtime subscribe; expect nobody to be left."""
    monkeypatch.setattr(fanout, "_handlers", {})
    monkeypatch.setattr(relay, "_outage", relay._Outage())
    monkeypatch.setattr(relay, "_strangers", relay._Strangers())
    yield
    assert fanout._listeners == {}

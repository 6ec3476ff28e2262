"""A stage with one conversation, a workspace to configure, and nothing left from other tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from channels.layers import channel_layers

from jpweb.runtime.execution import run_executor
from jpweb.runtime.inquiries import approvals, resolution
from jpweb.store.models import Person, Workspace
from tests.runtime.playing import Scene
from tests.store import making


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


@pytest.fixture
def home(db: None, tmp_path: Path) -> Workspace:
    """Return a workspace whose configuration files a test may write."""
    (tmp_path / ".jp").mkdir()
    workspace = making.workspace()
    Workspace.objects.filter(pk=workspace.pk).update(root=str(tmp_path))
    workspace.refresh_from_db()
    return workspace


@pytest.fixture
def ada(db: None) -> Person:
    return making.person("ada")

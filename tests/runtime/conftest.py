"""A stage with one conversation, a workspace to configure, and nothing left from other tests.

A receiver of notifications and a push service run for one test.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from channels.layers import channel_layers

from jpweb.runtime.execution import run_executor
from jpweb.runtime.inquiries import approvals, resolution
from jpweb.runtime.notifications import sending_threads
from jpweb.store.models import Person, Workspace
from tests.machine.ports import wait_until
from tests.runtime.notifications.push_scene import PushScene
from tests.runtime.notifications.push_service import PushService, run_push_service
from tests.runtime.notifications.receiver import NotificationReceiver, run_receiver
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
def workspace(db: None, tmp_path: Path) -> Workspace:
    """Return a workspace whose configuration files a test may write."""
    (tmp_path / ".jp").mkdir()
    new_workspace = making.workspace()
    Workspace.objects.filter(pk=new_workspace.pk).update(root=str(tmp_path))
    new_workspace.refresh_from_db()
    return new_workspace


@pytest.fixture
def ada(db: None) -> Person:
    return making.person("ada")


@pytest.fixture
def receiver(settings: Any) -> Iterator[NotificationReceiver]:
    settings.NOTIFY_PRIVATE = ("127.0.0.1",)
    with run_receiver() as running_receiver:
        try:
            yield running_receiver
        finally:
            running_receiver.let_go.set()
            wait_until(lambda: not sending_threads._busy_keys, "nothing is being sent any more")


@pytest.fixture
def service(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[PushService]:
    settings.NOTIFY_PRIVATE = ("127.0.0.1",)
    settings.PUBLIC_URL = "https://jp.example.org/"
    with run_push_service(tmp_path) as (service, certificate):
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
        yield service


@pytest.fixture
def stage(transactional_db: None, service: PushService) -> PushScene:
    return PushScene(service)

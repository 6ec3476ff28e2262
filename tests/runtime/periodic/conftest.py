"""A receiver and a push service that run for one test, and nothing left on its way to them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jpweb.runtime.periodic import sending_threads
from tests.machine.ports import wait_until
from tests.runtime.periodic.push_scene import PushScene
from tests.runtime.periodic.push_service import PushService, run_push_service
from tests.runtime.periodic.receiver import NotificationReceiver, run_receiver


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

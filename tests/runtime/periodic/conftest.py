"""A receiver that runs for one test, and nothing left on its way to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from jpweb.runtime.periodic import sending_threads
from tests.machine.ports import wait_until
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

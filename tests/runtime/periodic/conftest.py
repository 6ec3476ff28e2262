"""A receiver that runs for one test, and nothing left on its way to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from jpweb.runtime.periodic import apprise_sender
from tests.machine.ports import wait_until
from tests.runtime.periodic.receiver import Receiver, receiver


@pytest.fixture
def there(settings: Any) -> Iterator[Receiver]:
    settings.NOTIFY_PRIVATE = ("127.0.0.1",)
    with receiver() as running:
        try:
            yield running
        finally:
            running.let_go.set()
            wait_until(lambda: not apprise_sender._busy_keys, "nothing is being sent any more")

"""A receiver that runs for one test, and nothing left on its way to it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from jpweb.runtime.duties import carrier
from tests.runtime.duties.receiver import Receiver, receiver


@pytest.fixture
def there() -> Iterator[Receiver]:
    with receiver() as running:
        yield running
        running.let_go.set()
        end = time.monotonic() + 10
        while carrier._sending and time.monotonic() < end:
            time.sleep(0.01)
    assert carrier._sending == set()

"""What every test gets: the machine's fixtures, one Hypothesis profile, browsers last."""

from __future__ import annotations

import pytest
from hypothesis import settings

pytest_plugins = ["tests.machine.fixtures"]

settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put browser tests last: once Playwright runs, no other event loop can in this thread."""
    items.sort(key=lambda item: "browser" in getattr(item, "fixturenames", ()))

"""A conversation that grows, for each test another one, beside the long one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.pages import Home, Visit
from tests.browser.reading.live.growing import LENGTH, Growing
from tests.machine.browsing import Pages


@pytest.fixture
def make_growing(library: Home, open_page: Pages, tmp_path: Path) -> Callable[[int], Growing]:
    """Return a factory of conversations of so many events, which grow as a test tells them to."""
    visit = Visit(library, open_page)
    return lambda length: Growing(visit, tmp_path, length)


@pytest.fixture
def growing(make_growing: Callable[[int], Growing]) -> Growing:
    return make_growing(LENGTH)

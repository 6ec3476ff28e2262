"""Visits to the server with the long conversation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.pages import Home, Visit
from tests.machine.browsing import Pages


@pytest.fixture
def shelf(library: Home, open_page: Pages) -> Iterator[Visit]:
    """Visit the server with the long conversation."""
    visit = Visit(library, open_page)
    yield visit
    visit.leave()

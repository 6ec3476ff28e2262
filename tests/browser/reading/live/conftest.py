"""A server whose workspace holds a conversation that grows, for each test another one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.browser.pages import Home, Visit, serve_home
from tests.browser.reading.live.growing import LENGTH, WORKSPACE, Growing
from tests.machine.browsing import Pages
from tests.machine.serving import Server


@pytest.fixture(scope="package")
def growing_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """Serve a workspace that is empty at first."""
    folder = tmp_path_factory.mktemp("growing")
    root = folder / WORKSPACE
    (root / ".jp" / "conversations").mkdir(parents=True)
    with serve_home(Server(folder / "data", workspace=root)) as home:
        yield home


@pytest.fixture
def make_growing(growing_home: Home, open_page: Pages, tmp_path: Path) -> Callable[[int], Growing]:
    """Return a factory of conversations of so many events, which grow as a test tells them to."""
    visit = Visit(growing_home, open_page)
    return lambda length: Growing(visit, tmp_path, length)


@pytest.fixture
def growing(make_growing: Callable[[int], Growing]) -> Growing:
    return make_growing(LENGTH)

"""A server with one conversation that is too long to be on a page at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.pages import Home, Visit
from tests.load import synthetic
from tests.machine.browsing import Pages
from tests.machine.ports import free_port
from tests.machine.serving import Server

#: Elements of the long conversation: more than the ten thousand that are scrolled through.
LENGTH = 10_200


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """Serve the long conversation."""
    folder = tmp_path_factory.mktemp("library")
    root = synthetic.workspace(folder / "shelf", LENGTH)
    server = Server(folder / "data", free_port(), root, {"JPWEB_SCRIPT_PACE": "0"})
    server.start()
    yield Home(server)
    server.close()
    assert " ERROR " not in server.log_text()


@pytest.fixture
def shelf(library: Home, open_page: Pages) -> Iterator[Visit]:
    """Visit the server with the long conversation."""
    visit = Visit(library, open_page)
    yield visit
    visit.leave()

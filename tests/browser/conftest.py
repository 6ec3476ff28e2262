"""One server for all tests that do not harm it; every test leaves it with nothing running."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.browser.library import write_library
from tests.browser.pages import Home, Visit, serve_home
from tests.machine.browsing import Pages
from tests.machine.ports import free_port
from tests.machine.serving import ROOT, Server

DEMO = ROOT / "jpweb" / "store" / "jp_files" / "demo" / ".jp"
ELSEWHERE = "elsewhere"


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """Serve the demo and a second workspace of one conversation; the script is played at once."""
    folder = tmp_path_factory.mktemp("home")
    env = {"JPWEB_SCRIPT_PACE_SECONDS": "0", "JPWEB_NOTIFY_PRIVATE": "127.0.0.1"}
    server = Server(folder / "data", free_port(), _elsewhere(folder), env)
    with serve_home(server) as home:
        yield home


@pytest.fixture(scope="session")
def slow_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """Serve the demo with a script whose text streams as slowly as a model's."""
    data = tmp_path_factory.mktemp("slow") / "data"
    with serve_home(Server(data, settings={"JPWEB_SCRIPT_PACE_SECONDS": "0.04"})) as home:
        yield home


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """Serve the demo and a workspace with the long conversation."""
    folder = tmp_path_factory.mktemp("library")
    root = write_library(folder)
    server = Server(folder / "data", free_port(), root, {"JPWEB_SCRIPT_PACE_SECONDS": "0"})
    with serve_home(server) as home:
        yield home


@pytest.fixture
def slow_visit(slow_home: Home, open_page: Pages) -> Iterator[Visit]:
    """Visit the server whose text streams."""
    visit = Visit(slow_home, open_page)
    yield visit
    visit.leave()


@pytest.fixture
def visit(home: Home, open_page: Pages) -> Iterator[Visit]:
    """Visit the shared server."""
    visit = Visit(home, open_page)
    yield visit
    visit.leave()


@pytest.fixture
def visiting(open_page: Pages) -> Callable[[Server], Visit]:
    """Return a way to visit a server of the test's own."""
    return lambda server: Visit(Home(server), open_page)


def _elsewhere(folder: Path) -> Path:
    """Make a second workspace, of one conversation."""
    root = folder / ELSEWHERE
    source = next((DEMO / "conversations").glob("*-release-*"))
    shutil.copytree(source, root / ".jp" / "conversations" / source.name)
    (root / ".jp" / ".id").write_text("other\n")
    return root

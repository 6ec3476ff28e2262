"""One server with the real conversations, as far as they are here, and a long generated one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.browser import library
from tests.browser.browsing.shelf import REAL, Book, list_books
from tests.browser.pages import Home, Visit, serve_home
from tests.load import synthetic
from tests.machine.browsing import Pages
from tests.machine.ports import free_port
from tests.machine.serving import Server
from tests.machine.sizes import IS_PROOF, choose_size
from tests.machine.visiting import Visitor

#: Seconds that importing, and then indexing, may take on a machine that does much else.
PATIENCE = 300
#: Events of the long conversation.
LENGTH = choose_size(library.LENGTH, 100_000)


@pytest.fixture(scope="session")
def archive(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Home]:
    """Serve a workspace of all of them; everything in it can be searched for.

    Outside of proof, where the real ones are not read, it is the library.
    """
    if not IS_PROOF:
        home: Home = request.getfixturevalue("library")
        home.owner.wait_until_indexed(PATIENCE)
        yield home
        return
    folder = tmp_path_factory.mktemp("archive")
    root = synthetic.write_workspace(folder / library.WORKSPACE, LENGTH)
    for source in REAL:
        shutil.copytree(source, root / ".jp" / "conversations" / source.name, copy_function=_copy)
    server = Server(folder / "data", free_port(), root, {"JPWEB_SCRIPT_PACE_SECONDS": "0"})
    with serve_home(server, PATIENCE) as home:
        home.owner.wait_until_indexed(PATIENCE)
        yield home


@pytest.fixture(scope="package")
def second_visitor(archive: Home) -> Visitor:
    """Sign a second person in, who may read."""
    return archive.invite("Bo", "reader", library.WORKSPACE)


@pytest.fixture
def visit(archive: Home, open_page: Pages) -> Iterator[Visit]:
    """Visit the archive, and stop what was begun there: it would wait on everybody's start page."""
    visiting = Visit(archive, open_page)
    yield visiting
    visiting.leave()


@pytest.fixture(params=list_books(LENGTH))
def book(request: pytest.FixtureRequest) -> Book:
    """Return each of the conversations in turn."""
    param: Book = request.param
    return param


@pytest.fixture
def long_book() -> Book:
    """Return the long conversation."""
    return Book.long(LENGTH)


def _copy(source: str, target: str) -> str:
    """Copy a file without its mode: what is real is kept where nobody may write."""
    return shutil.copyfile(source, target)

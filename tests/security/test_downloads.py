"""Large downloads from a real server: readers that take nothing, leave, or are left."""

from __future__ import annotations

import re
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection, HTTPResponse, IncompleteRead
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from jpweb.store.choices import Role
from jpweb.stream.events import ChatResponse
from tests.load.databases import use_database
from tests.load.page import make_cookie
from tests.machine.ports import LOOPBACK, wait_until
from tests.machine.serving import Server
from tests.machine.sizes import choose_size
from tests.machine.templates import SQLITE_FILE, copy_migrated_sqlite
from tests.store import making

#: More than the kernel keeps for a reader that takes nothing, on both sides of a connection.
EVENTS, EVENT_CHARACTERS = choose_size(150, 300), 100_000
#: How often the same share of a download is seen before it counts as standing still.
SAME_SHARES = 20
_SHARE = re.compile(r'<progress max="100" value="(\d+)"')


class Library:
    """A running server, its auditor's cookie, and a conversation of 15 or 30 MB."""

    def __init__(self, data: Path) -> None:
        copy_migrated_sqlite(data)
        with use_database(data / SQLITE_FILE):
            workspace = making.workspace()
            auditor = making.person("auditor", Role.AUDITOR, workspace)
            message = ChatResponse("message", "x" * EVENT_CHARACTERS)
            self.conversation = making.mirrored_conversation(workspace, *[message] * EVENTS)
            self.cookie = make_cookie(auditor)
        self.path = f"/conversations/{self.conversation.pk}/export/jp"
        self.server = Server(data, settings={"JPWEB_SECRET_KEY": settings.SECRET_KEY})

    def open(self, path: str) -> tuple[HTTPConnection, HTTPResponse]:
        """Send a request whose response waits in small buffers until it is read."""
        line = HTTPConnection(LOOPBACK, self.server.port, timeout=60)
        line.sock = socket.socket()
        line.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.sock.connect((LOOPBACK, self.server.port))
        line.request("GET", path, headers={"Cookie": self.cookie})
        return line, line.getresponse()

    def get(self, path: str) -> tuple[int, str]:
        line, response = self.open(path)
        with closing(line):
            return response.status, response.read().decode()

    def is_free(self) -> bool:
        """Tell whether the person may begin a large download."""
        line, response = self.open(self.path)
        line.close()
        return response.status == 200

    def read_share(self) -> str:
        """Return how much is made of the download under way; empty where there is none."""
        share = _SHARE.search(self.get("/download")[1])
        return share[1] if share else ""

    def change(self, statement: str, *values: Any) -> None:
        with closing(sqlite3.connect(self.server.data / SQLITE_FILE, timeout=30)) as writer:
            writer.execute(statement, values)
            writer.commit()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, django_db_blocker: Any) -> Iterator[Library]:
    with django_db_blocker.unblock():
        running_library = Library(tmp_path_factory.mktemp("library") / "data")
    try:
        running_library.server.start()
        yield running_library
        log = running_library.server.log_text()
        assert "Traceback" not in log, log[-3000:]
    finally:
        running_library.server.close()


def test_reader_that_takes_nothing_holds_up_its_own_download_alone(library: Library):
    line, response = library.open(library.path)
    shares: list[str] = []

    def stands_still() -> bool:
        shares.append(library.read_share())
        return len(shares) > SAME_SHARES and len(set(shares[-SAME_SHARES:])) == 1

    wait_until(stands_still, "the download stands still", 60)
    assert 0 < int(shares[-1]) < 90, "the server made what nobody takes"
    status, page = library.get(library.path)
    assert (status, "You are downloading" in page) == (429, True)
    assert len(response.read()) > EVENTS * EVENT_CHARACTERS
    line.close()
    wait_until(library.is_free, "the next download is admitted", 30)


def test_reader_that_leaves_is_free_to_begin_again(library: Library):
    line, response = library.open(library.path)
    assert response.read(1000)
    line.close()
    wait_until(library.is_free, "the next download is admitted", 30)


def test_killed_server_leaves_no_download_lease(library: Library):
    line, response = library.open(library.path)
    assert response.read(1000)
    library.server.kill()
    line.close()
    library.change("UPDATE store_tasklease SET lease_until = '2099-01-01 00:00:00'")
    library.server.restart()
    wait_until(library.is_free, "the next download is admitted", 30)


def test_aborted_download_is_recognized_as_incomplete(library: Library):
    line, response = library.open(library.path)
    assert response.read(1000)
    library.change("UPDATE store_conversation SET revision = revision + 1")
    with closing(line), pytest.raises((IncompleteRead, ConnectionResetError)):
        response.read()
    assert f"{library.path} was aborted: The conversation was rewritten" in (
        library.server.log_text()
    )

"""What the whole server says, and still does, where its database cannot do its work."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.chaos import record
from tests.machine.faults.disks import (
    copy_database,
    fill_disk,
    mount_disk,
    see_disk,
    truncate_log,
)
from tests.machine.fixtures import Live
from tests.machine.ports import wait_until
from tests.machine.serving import Server
from tests.machine.templates import copy_migrated_sqlite
from tests.machine.visiting import Visitor

SECRET = {"JPWEB_SECRET_KEY": "so that no file has to be written for it"}
ASKS = '/call ask_user {"question": "Go on?", "answer_type": "boolean"}'
PAGES = ("/", "/conversations", "/questions", "/audit", "/search?q=go", "/conversations/new")
_UNSETTLED = """
SELECT (SELECT count(*) FROM store_run WHERE state <> 'done')
     + (SELECT count(*) FROM store_ledgerentry WHERE sequence IS NULL)
"""
_FIRST_CARD = re.compile(r'data-question="(\d+)"')


def refusal(server: Server) -> str:
    """Let a server start where it cannot; return the one line that it prints."""
    code, output = server.run()
    assert code != 0
    (line,) = output.splitlines()
    return line


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """Hold SQLite's write lock, as a backup program may."""
    with closing(sqlite3.connect(database, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        yield


def begin(server: Server) -> tuple[Visitor, str, str]:
    """Sign in and begin a turn; return who did, the conversation's page and its question."""
    owner = Visitor(server.url)
    owner.sign_in(server.link)
    workspace = re.search(r'<option value="(\d+)"', owner.get("/conversations/new").text)
    assert workspace is not None
    fields = {"workspace": workspace[1], "text": ASKS}
    page = owner.post("/conversations/new", "/conversations/new", **fields).url
    wait_until(lambda: _FIRST_CARD.search(owner.get("/questions").text), "a question waits")
    match = _FIRST_CARD.search(owner.get("/questions").text)
    assert match is not None
    return owner, page, match[1]


def answer(owner: Visitor, question: str) -> tuple[int, str]:
    reply = owner.post(f"/questions/{question}/answer", "/questions", answer="true")
    return reply.status, reply.text


@pytest.mark.chaos
def test_pages_open_and_forms_are_answered_while_sqlite_is_locked(live: Live):
    server = live()
    owner, page, question = begin(server)
    with locked(server.data / "jpweb.sqlite3"):
        for path in (page, *PAGES):
            assert owner.get(path).status == 200, path
        status, text = answer(owner, question)
        assert status == 503
        assert "Database locked" in text
        assert "was not saved" in text
    assert answer(owner, question)[0] == 200


@dataclass(frozen=True, slots=True)
class _CopiedDatabase:
    """A copy of a server's SQLite file, of which the record is read."""

    server: Server
    copy: Path

    def is_settled(self) -> bool:
        """Copy the file; tell whether all turns have ended and all entries are sealed."""
        self.copy.unlink(missing_ok=True)
        copy_database(self.server.pid, self.server.data / "jpweb.sqlite3", self.copy)
        return self.rows(_UNSETTLED) == [(0,)]

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.copy)) as line:
            return line.execute(query, values).fetchall()


@pytest.mark.chaos
def test_full_disk_is_named_and_pages_still_open(tmp_path: Path):
    server = Server(tmp_path / "data", copies_template=False)
    server.data.mkdir()
    server.wrapper = mount_disk(server.data, "size=12m")
    try:
        owner, page, question = begin(server.start())
        truncate_log(server.pid, server.data / "jpweb.sqlite3")
        filler = fill_disk(see_disk(server.pid, server.data))
        for path in (page, *PAGES):
            assert owner.get(path).status == 200, path
        status, text = answer(owner, question)
        assert status == 503
        assert "Database disk full" in text
        filler.unlink()
        assert answer(owner, question)[0] == 200
        database = _CopiedDatabase(server, tmp_path / "copy.sqlite3")
        wait_until(database.is_settled, "the turn ends and its entries are sealed", 60)
        assert record.list_faults(database) == []
    finally:
        server.close()


@pytest.mark.parametrize(
    ("option", "words"),
    [
        pytest.param("size=256k", "database disk (full|failure)", id="full"),
        # Its error is raised where that of a folder which cannot be made is (test_data_folder).
        pytest.param("ro", "Read-only file system", id="read-only", marks=pytest.mark.proof),
    ],
)
def test_start_on_a_disk_that_cannot_be_written_is_one_line(
    tmp_path: Path, option: str, words: str
):
    server = Server(tmp_path / "data", settings=SECRET)
    server.data.mkdir()
    server.wrapper = mount_disk(server.data, f"{option},mode=0700")
    assert re.search(words, refusal(server))


@pytest.mark.proof  # test_bootstrap.py refuses it; test_a_taken_port_is_one_line prints a refusal
def test_start_on_data_of_a_newer_version_is_one_line(live: Live):
    server = live(start=False)
    copy_migrated_sqlite(server.data)
    with closing(sqlite3.connect(server.data / "jpweb.sqlite3", isolation_level=None)) as line:
        line.execute(
            "INSERT INTO django_migrations (app, name, applied) "
            "VALUES ('store', '9999_future', '2030-01-01')"
        )
    assert "newer jpweb" in refusal(server)

"""That indexing outlives kill -9: ``manage.py index`` as people run it, on data of its own."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jpweb.store.search import indexer
from tests.load import synthetic
from tests.machine.ports import end_process, wait_until
from tests.machine.sizes import IS_PROOF, choose_size
from tests.machine.templates import ROOT, inherit_environment

EVENTS = choose_size(4_000, 16_000)
#: How many entries are known, at least, when it is killed; more is left each time than a part.
DEATHS = (1, 5_000, 10_000) if IS_PROOF else (1, 2_000)
#: Holds up the last entries for ever: however late it is killed, the command has not ended.
_HOLD = f"""
CREATE TRIGGER hold BEFORE UPDATE OF indexed_entry_count ON store_conversation
WHEN NEW.indexed_entry_count >= {EVENTS} BEGIN
SELECT count(*) FROM {", ".join(f"store_journalentry e{number}" for number in range(9))};
END
"""  # noqa: S608  the numbers of this module
#: A word that the last event alone says.
LAST = "amaryllis"
_SEARCH = f"""
from jpweb.store import accounts
from jpweb.store.search import engine, query_parser
owner = accounts.get_or_create_owner()
found = engine.make_search(owner.pk, query_parser.parse_query("{LAST}"))
print([hit.position for hit in found.list_newest().rows])
"""


@dataclass
class Installation:
    """A folder with a database in it, and what is run on that."""

    folder: Path

    @property
    def database(self) -> Path:
        return self.folder / "jpweb.sqlite3"

    def begin(self, *command: str) -> subprocess.Popen[bytes]:
        variables = {"JPWEB_DATA": str(self.folder), "JP_USER_DATA_DIR": str(self.folder / "jp")}
        return subprocess.Popen(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=inherit_environment() | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def run(self, *command: str) -> str:
        """Run something to its end; return what it printed."""
        process = self.begin(*command)
        try:
            output = process.communicate(timeout=300)[0].decode()
        finally:
            end_process(process)
        assert process.returncode == 0, output
        return output

    def rows(self, query: str) -> list[Any]:
        with closing(sqlite3.connect(self.database, timeout=20)) as connection:
            return connection.execute(query).fetchall()

    def count_indexed(self) -> int | None:
        """Return how many entries search knows; None where nothing is left to look at."""
        query = "SELECT needs_indexing, indexed_entry_count FROM store_conversation"
        ((needs_indexing, length),) = self.rows(query)
        return length if needs_indexing else None

    def die(self, least: int, *options: str) -> int:
        """Index, killed once more is known than before, and at least so much; return how much."""
        before = self.count_indexed() or 0
        counts = [before]
        self.rows(_HOLD)
        process = self.begin("index", *options)

        def strikes() -> bool:
            entry_count = self.count_indexed()
            if entry_count is not None:
                counts.append(entry_count)
            return max(least, before + 1) <= counts[-1] < EVENTS or process.poll() is not None

        try:
            wait_until(strikes, f"{least} entries are indexed", 120)
        finally:
            process.kill()
            output = process.communicate(timeout=30)[0].decode()
            self.rows("DROP TRIGGER hold")
        assert process.returncode == -signal.SIGKILL, output
        assert min(counts) == before, "it goes on where the one before it was killed"
        return self.count_indexed() or 0


@pytest.fixture(scope="module")
def mirrored(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Return where a conversation is mirrored, of which nothing is indexed."""
    folder = tmp_path_factory.mktemp("killed")
    root = synthetic.write_workspace(folder / "garden", EVENTS - 1)
    (file,) = root.glob(".jp/conversations/*/events.json")
    last = {"timestamp": "2027-01-01 00:00:00.0", "type": "chat_response", "message": LAST}
    file.write_text(json.dumps([*json.loads(file.read_bytes()), last]))
    installation = Installation(folder / "data")
    installation.folder.mkdir()
    installation.run("mirror", str(root))
    assert installation.rows("SELECT entry_count FROM store_conversation") == [(EVENTS,)]
    assert installation.count_indexed() == 0
    return installation


@pytest.fixture(scope="module")
def reference_installation(mirrored: Installation) -> Installation:
    """Return the same, indexed by one process that nobody disturbed."""
    installation = copy_installation(mirrored, "whole")
    installation.run("index")
    assert installation.count_indexed() is None
    return installation


def copy_installation(original: Installation, name: str) -> Installation:
    installation = Installation(original.folder.with_name(name))
    shutil.copytree(original.folder, installation.folder)
    return installation


def passages(of: Installation) -> list[Any]:
    return of.rows("SELECT * FROM store_passage ORDER BY position, part")


@pytest.mark.chaos
@pytest.mark.parametrize(
    "options",
    [
        pytest.param((), id="first"),
        pytest.param(("--all",), id="again", marks=pytest.mark.proof),
    ],
)
def test_index_command_killed_repeatedly_completes_the_index(
    mirrored: Installation, reference_installation: Installation, options: tuple[str, ...]
):
    installation = copy_installation(
        reference_installation if options else mirrored, "again" if options else "first"
    )
    for death, least in enumerate(DEATHS):
        assert least <= installation.die(least, *(() if death else options)) < EVENTS
        passage_count = len(passages(installation))
        assert 0 < passage_count < len(passages(reference_installation))
    installation.run("index")
    assert installation.count_indexed() is None
    assert passages(installation) == passages(reference_installation)
    places = installation.rows("SELECT position, part FROM store_passage")
    assert len(places) == len(set(places)) > EVENTS // 2
    # Raises where the index of words is not that of the table.
    installation.rows(
        "INSERT INTO store_passage_words(store_passage_words, rank) VALUES('integrity-check', 1)"
    )
    assert installation.rows("PRAGMA integrity_check") == [("ok",)]
    assert installation.run("shell", "-v0", "-c", _SEARCH).split("\n")[-2] == str([EVENTS - 1])


def test_index_command_is_killed_after_more_than_one_batch():
    ends = [*DEATHS, EVENTS]
    assert (
        min(later - death for death, later in zip(DEATHS, ends[1:], strict=True))
        > indexer.BATCH_ENTRIES
    )

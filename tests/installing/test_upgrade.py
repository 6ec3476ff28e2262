"""The data of an earlier jpweb, opened by this one; ``recording`` says how they were made."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.installing import dumps, reading
from tests.installing.crawling import diff_pages
from tests.installing.owner import Owner
from tests.machine.fixtures import Live
from tests.machine.servers import Cluster
from tests.machine.serving import ROOT
from tests.machine.sizes import IS_PROOF
from tests.machine.templates import migrate_database

EARLIER = sorted((ROOT / "tests" / "samples" / "upgrade").iterdir())
#: Longer than all pages take: the recorded ones show a turn that waits and is not parked yet.
PARK_AFTER_SECONDS = "600"


def load(folder: Path, engine: str, data: Path, request: pytest.FixtureRequest) -> dict[str, str]:
    """Make a database of a dump; return the settings with which it is served."""
    text = (folder / f"{engine}.sql").read_text()
    if engine == "sqlite":
        data.mkdir()
        dumps.load_sqlite(text, data / "jpweb.sqlite3")
        return {}
    postgres: Cluster = request.getfixturevalue("postgres")
    url = postgres()
    dumps.load_postgresql(text, url)
    return {"DATABASE_URL": url}


@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgresql", marks=pytest.mark.proof)])
@pytest.mark.parametrize("folder", EARLIER, ids=[folder.name for folder in EARLIER])
def test_data_of_an_earlier_jpweb_shows_the_same_pages(
    live: Live, request: pytest.FixtureRequest, tmp_path: Path, folder: Path, engine: str
):
    server = live(
        start=False, data=tmp_path / "upgraded", JPWEB_PARK_AFTER_SECONDS=PARK_AFTER_SECONDS
    )
    server.settings |= {"JPWEB_SCRIPT_PACE_SECONDS": "0"} | load(
        folder, engine, server.data, request
    )
    if not IS_PROOF:
        # A server's start renders the models of each migration; test_bootstrap.py has it migrate.
        migrate_database({"JPWEB_DATA": str(server.data)})
    owner = Owner(server.start())
    recorded = reading.load_pages(folder / "pages.txt")
    assert diff_pages(recorded, reading.read_pages(owner, [*recorded])) == []
    owner.answer("/questions", "select", "without a backup")
    owner.find_question("/questions", "text")

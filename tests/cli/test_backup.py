"""``jpweb backup`` and ``jpweb restore``, as processes of their own beside real servers."""

from __future__ import annotations

import json
import re
import secrets
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from jpweb.store.backups.archive import Table, create_archive, open_archive
from tests.browser import evidence
from tests.installing.crawling import crawl, diff_pages
from tests.installing.owner import Owner
from tests.machine.fixtures import Live
from tests.machine.ports import wait_until
from tests.machine.servers import Cluster
from tests.machine.serving import ROOT, Server
from tests.machine.templates import SQLITE_FILE

#: The newest migration of the commit from which installations are upgraded.
C430B99_MIGRATION = "0006_lists"


def run_command(server: Server, *arguments: str) -> tuple[int, str]:
    """Run a command on a server's data; return its code and what it printed."""
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=server._environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def read_tables(backup: Path) -> dict[str, str]:
    """Return the hash of each table in a backup."""
    with zipfile.ZipFile(backup) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    return {table["name"]: table["sha256"] for table in manifest["tables"]}


def read_pages(owner: Owner) -> dict[str, str]:
    """Return all pages, without what a restart and the other database change in them."""
    search = "have yet to be indexed"
    wait_until(lambda: search not in owner.visitor.get("/search").text, "all is indexed")
    crawl(owner.visitor)  # what was read is on record from here on
    return {
        path: _drop_differences(text)
        for path, text in crawl(owner.visitor).items()
        if path != "/account"  # it lists sign-ins, which are in no backup
    }


def _drop_differences(text: str) -> str:
    # How often a turn was taken over by another process.
    text = re.sub(r'(data-run="\d+-\w+)-\d+"', r'\1"', text)
    text = text.replace(" It went on after the server had ended.", "")
    # PostgreSQL keeps the keys of an object, such as the labels, in an order of its own.
    return re.sub(r".*class=\"tag\".*", lambda line: "".join(sorted(line[0])), text)


@pytest.fixture
def databases(postgres: Cluster) -> dict[str, dict[str, str]]:
    return {"SQLite": {}, "PostgreSQL": {"DATABASE_URL": postgres()}}


def make_busy(server: Server, canary: str) -> tuple[Owner, str]:
    """Have one turn finished, one parked and one running; return the path of the parked one."""
    owner = Owner(server)
    owner.finish(owner.begin("Finished"), canary)
    parked = owner.begin("Waiting")
    owner.find_question(parked, "boolean")
    server.stop()
    # The second turn is put down, and the third does not get anywhere.
    server.settings |= {"JPWEB_HOLD": "0.1", "JPWEB_SCRIPT_PACE": "20"}
    server.start()
    owner.sign_in()
    wait_until(lambda: not owner.is_running(parked), "it is parked")
    running = owner.begin("Running")
    wait_until(lambda: owner.is_running(running), "it runs")
    return owner, parked


@pytest.mark.parametrize(
    ("source", "target"), [("SQLite", "PostgreSQL"), ("PostgreSQL", "SQLite")], ids=str
)
def test_backup_of_a_busy_server_restores_elsewhere(
    live: Live, databases: dict[str, dict[str, str]], tmp_path: Path, source: str, target: str
):
    canary = f"canary{secrets.token_hex(12)}"
    server = live(start=False)
    server.settings |= databases[source] | {"JPWEB_SCRIPT_PACE": "0"}
    server.start()
    owner, parked = make_busy(server, canary)
    pages = read_pages(owner)
    backup = tmp_path / "file"
    assert run_command(server, "backup", str(backup))[0] == 0
    other = live(start=False)
    other.settings |= databases[target] | {"JPWEB_SCRIPT_PACE": "20"}
    code, printed = run_command(other, "restore", str(backup))
    assert code == 0, printed
    restored = Owner(other.start())
    assert diff_pages(pages, read_pages(restored)) == []
    assert len(pages) > 90
    restored.answer(parked, "boolean", "true")
    restored.find_question(parked, "select")
    with zipfile.ZipFile(backup) as archive:
        texts = [archive.read(name).decode() for name in archive.namelist()]
    assert any("Waiting" in text for text in texts)
    assert evidence.traces(canary, other.data, other.log_text(), *texts) == []


def read_columns(server: Server) -> dict[str, list[str]]:
    """Return the columns of each table as c430b99 had them."""
    code, printed = run_command(server, "migrate", "store", C430B99_MIGRATION)
    assert code == 0, printed
    with closing(sqlite3.connect(server.data / SQLITE_FILE)) as database:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_schema")]
        return {
            name: [row[1] for row in database.execute(f'PRAGMA table_info("{name}")')]
            for name in names
        }


def write_older_backup(newest: Path, older: Path, columns: dict[str, list[str]]) -> None:
    """Write the rows of a backup again, without the tables and columns that came later."""
    with open_archive(newest) as source, create_archive(older) as target:
        kept = []
        for table in source.manifest.tables:
            places = [
                place
                for place, column in enumerate(table.columns)
                if column in columns.get(table.name, ())
            ]
            if places:
                kept.append(Table(table.name, [table.columns[place] for place in places]))
                rows = ([row[place] for place in places] for row in source.rows(table))
                target.write_table(kept[-1], rows)
        source.manifest.tables, source.manifest.migration = kept, C430B99_MIGRATION
        target.write_manifest(source.manifest)


def test_older_backup_is_brought_up_to_date(live: Live, tmp_path: Path):
    source, target = live(start=False), live(start=False)
    run_command(source, "mirror", "jpweb/store/disk/demo")
    newest, older, again = (tmp_path / name for name in ("newest", "older", "again"))
    assert run_command(source, "backup", str(newest))[0] == 0
    write_older_backup(newest, older, read_columns(live(start=False)))
    code, printed = run_command(target, "restore", str(older))
    assert code == 0, printed
    assert run_command(target, "backup", str(again))[0] == 0
    assert read_tables(again) == read_tables(newest)


def test_commands_refuse_what_would_destroy_something(live: Live, tmp_path: Path):
    server = live()
    backup = tmp_path / "file"
    code, printed = run_command(server, "backup", str(backup))
    assert (code, printed.startswith(f"{backup}: ")) == (0, True)
    code, printed = run_command(server, "backup", str(backup))
    assert (code, f"{backup} exists. Choose another name" in printed) == (1, True)
    assert run_command(server, "backup", str(backup), "--force")[0] == 0
    code, printed = run_command(server, "restore", str(backup), "--force")
    assert (code, f"jpweb is running on {server.data} already" in printed) == (1, True)
    server.stop()
    code, printed = run_command(server, "restore", str(backup))
    assert (code, "rows already. Use an empty one, or --force" in printed) == (1, True)
    code, printed = run_command(server, "restore", str(backup), "--force")
    assert (code, "Start it with “make run”" in printed) == (0, True)


def test_backup_without_data_is_one_line_and_makes_none(live: Live, tmp_path: Path):
    server = live(start=False)
    code, printed = run_command(server, "backup", str(tmp_path / "file"))
    assert code == 1
    assert printed.startswith("CommandError: There is nothing to back up: ")
    assert not list(server.data.glob("*.sqlite3"))
    assert not (tmp_path / "file").exists()

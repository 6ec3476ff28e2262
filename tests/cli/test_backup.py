"""``jpweb backup`` and ``jpweb restore``, as processes of their own beside real servers."""

from __future__ import annotations

import io
import json
import re
import secrets
import signal
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command

from jpweb.cli.data_folder_lock import lock_data_dir
from jpweb.store import accounts
from jpweb.store.backups.archive import BackupTable, create_archive, open_archive
from tests.browser import evidence
from tests.installing.crawling import crawl_pages, diff_pages
from tests.installing.owner import Owner
from tests.machine.fixtures import Live
from tests.machine.ports import wait_until
from tests.machine.servers import Cluster
from tests.machine.serving import ROOT, Server
from tests.machine.templates import copy_migrated_sqlite

#: The newest migration of the commit from which installations are upgraded, and data of it.
C430B99_MIGRATION = "0006_lists"
_NAMES = import_module("jpweb.store.migrations.0011_renamed_tables_and_columns")
_COLUMNS = (
    *_NAMES.COLUMNS,
    *import_module("jpweb.store.migrations.0013_renamed_approval_columns").COLUMNS,
)
#: Names of c430b99 by those of now: of tables, and of columns by table.
OLDER_TABLES = {f"store_{new.lower()}": f"store_{old.lower()}" for old, new in _NAMES.MODELS}
OLDER_COLUMNS = {(f"store_{model}", new): old for model, old, new in _COLUMNS}
C430B99_DUMP = ROOT / "tests" / "samples" / "upgrade" / "c430b99" / "sqlite.sql"


def run_command(server: Server, *arguments: str) -> tuple[int, str]:
    """Run a command on a server's data; return its code and what it printed."""
    result = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=server._environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return result.returncode, result.stdout


#: What one who moves an installation carries along beside the backup, as docs/operations.md says.
_CARRIED_SETTINGS = {
    "JPWEB_SECRET_KEY": "carried to the other machine",
    "JPWEB_WORKSPACE_ROOTS": "/srv/repositories",
}


def read_tables(backup: Path) -> dict[str, str]:
    """Return the hash of each table in a backup."""
    with zipfile.ZipFile(backup) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    return {table["name"]: table["sha256"] for table in manifest["tables"]}


#: One lists sign-ins, which are in no backup. The other has ages, and each database rounds times.
_CHANGING_PAGES = ("/account", "/audit/charts")


def read_pages(owner: Owner) -> dict[str, str]:
    """Return all pages, without what a restart and the other database change in them."""
    owner.visitor.wait_until_indexed()
    return {
        path: _drop_differences(text)
        for path, text in crawl_pages(owner.visitor).items()
        if path not in _CHANGING_PAGES
    }


def _drop_differences(text: str) -> str:
    # How often a turn was taken over by another process.
    text = re.sub(r'(data-run="\d+-\w+)-\d+"', r'\1"', text)
    text = text.replace(" · Resumed after an interruption", "")
    # Turns that go on leave something to index at any moment.
    text = re.sub(r'<p .*role="status">Still indexing \d+ conversations?;.*', "", text)
    text = re.sub(r"^\s*\n", "", text, flags=re.MULTILINE)
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
    # The second turn is parked, and the third waits.
    server.settings |= {"JPWEB_PARK_AFTER_SECONDS": "0.1", "JPWEB_SCRIPT_PACE_SECONDS": "20"}
    server.start()
    owner.sign_in()
    wait_until(lambda: not owner.is_running(parked), "it is parked")
    conversation_path = owner.begin("Running")
    wait_until(lambda: owner.is_running(conversation_path), "it runs")
    return owner, parked


@pytest.mark.chaos
@pytest.mark.parametrize(
    ("source", "target"),
    [
        pytest.param("SQLite", "PostgreSQL", id="SQLite-PostgreSQL"),
        pytest.param("PostgreSQL", "SQLite", id="PostgreSQL-SQLite", marks=pytest.mark.proof),
    ],
)
def test_backup_of_a_busy_server_restores_elsewhere(
    live: Live, databases: dict[str, dict[str, str]], tmp_path: Path, source: str, target: str
):
    canary = f"canary{secrets.token_hex(12)}"
    server = live(start=False)
    server.settings |= databases[source] | _CARRIED_SETTINGS | {"JPWEB_SCRIPT_PACE_SECONDS": "0"}
    server.start()
    owner, parked = make_busy(server, canary)
    pages = read_pages(owner)
    backup = tmp_path / "file"
    assert run_command(server, "backup", str(backup))[0] == 0
    second_server = live(start=False)
    second_server.settings |= databases[target] | _CARRIED_SETTINGS
    second_server.settings["JPWEB_SCRIPT_PACE_SECONDS"] = "20"
    code, output = run_command(second_server, "restore", str(backup))
    assert code == 0, output
    restored = Owner(second_server.start())
    assert diff_pages(pages, read_pages(restored)) == []
    assert len(pages) > 90
    second_server.settings["JPWEB_SCRIPT_PACE_SECONDS"] = "0"
    second_server.restart()
    restored.sign_in()
    restored.answer(parked, "boolean", "true")
    restored.find_question(parked, "select")
    with zipfile.ZipFile(backup) as archive:
        texts = [archive.read(name).decode() for name in archive.namelist()]
    assert any("Waiting" in text for text in texts)
    assert evidence.find_traces(canary, second_server.data, second_server.log_text(), *texts) == []


def read_older_columns() -> dict[str, list[str]]:
    """Return the columns of each table as c430b99 had them."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(C430B99_DUMP.read_text())
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_schema")]
        return {
            name: [row[1] for row in database.execute(f'PRAGMA table_info("{name}")')]
            for name in names
        }


def write_older_backup(newest: Path, older: Path, columns: dict[str, list[str]]) -> None:
    """Write the rows of a backup again, without the tables and columns that came later."""
    with open_archive(newest) as source, create_archive(older) as target:
        backup_tables = []
        for table in source.manifest.tables:
            name = OLDER_TABLES.get(table.name, table.name)
            names = [OLDER_COLUMNS.get((table.name, column), column) for column in table.columns]
            places = [n for n, column in enumerate(names) if column in columns.get(name, ())]
            if places:
                backup_tables.append(BackupTable(name, [names[place] for place in places]))
                rows = ([row[place] for place in places] for row in source.read_rows(table))
                target.write_table(backup_tables[-1], rows)
        source.manifest.tables, source.manifest.migration = backup_tables, C430B99_MIGRATION
        target.write_manifest(source.manifest)


@pytest.mark.proof  # migrations run on old rows in make test, by test_upgrade
def test_older_backup_is_brought_up_to_date(live: Live, tmp_path: Path):
    source, target = live(start=False), live(start=False)
    for server in (source, target):
        copy_migrated_sqlite(server.data)
    run_command(source, "mirror", "jpweb/store/jp_files/demo")
    newest, older, second_backup = (tmp_path / name for name in ("newest", "older", "again"))
    assert run_command(source, "backup", str(newest))[0] == 0
    write_older_backup(newest, older, read_older_columns())
    code, output = run_command(target, "restore", str(older))
    assert code == 0, output
    assert run_command(target, "backup", str(second_backup))[0] == 0
    before, after = read_tables(newest), read_tables(second_backup)
    for rows in (before, after):  # the older jpweb had no ledger, and the restoration is an entry
        del rows["store_ledgerentry"]
    assert after == before


def call(*arguments: str) -> str:
    """Run a command in this process; return what it printed."""
    output = io.StringIO()
    call_command(*arguments, stdout=output)
    return output.getvalue()


@pytest.mark.django_db(transaction=True)
def test_backup_and_restore_refuse_to_overwrite(settings: Any, tmp_path: Path):
    settings.DATA_DIR = tmp_path / "data"
    accounts.get_or_create_owner()
    backup = str(tmp_path / "file")
    assert call("backup", backup).startswith(f"Backup written to {backup}: ")
    with pytest.raises(CommandError, match=f"^{backup} already exists. Choose another name"):
        call("backup", backup)
    assert call("backup", backup, "--force").startswith("Backup written")
    with (
        closing(lock_data_dir()),
        pytest.raises(CommandError, match=f"^jpweb is already running on {settings.DATA_DIR}"),
    ):
        call("restore", backup, "--force")
    with pytest.raises(CommandError, match=r"rows already\. Use an empty one, or --force"):
        call("restore", backup)
    assert "Start jpweb with “make run”" in call("restore", backup, "--force")


#: ``jpweb backup`` that never gets beyond the first table.
_STUCK_BACKUP = """
import sys, time
from jpweb.cli import entrypoint
from jpweb.store.backups.archive import ArchiveWriter
ArchiveWriter.write_table = lambda *_arguments: print("writing", flush=True) or time.sleep(600)
entrypoint.main(["jpweb", "backup", sys.argv[1]])
"""


@pytest.fixture
def stuck_backup(live: Live, tmp_path: Path) -> Iterator[tuple[Server, subprocess.Popen[bytes]]]:
    """Yield a server's data and a backup of it into ``kept/file``, which has begun to write."""
    server = live(start=False)
    copy_migrated_sqlite(server.data)
    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / ".file.abcdefgh.unfinished").touch()  # of another program
    with subprocess.Popen(
        [sys.executable, "-c", _STUCK_BACKUP, str(folder / "file")],
        cwd=ROOT,
        env=server._environment(),
        stdout=subprocess.PIPE,
    ) as process:
        try:
            # Its file exists somewhat earlier, before SIGTERM would remove it.
            assert process.stdout
            assert process.stdout.readline() == b"writing\n"
            yield server, process
        finally:
            process.kill()


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_backup_that_sigterm_ends_leaves_nothing(
    stuck_backup: tuple[Server, subprocess.Popen[bytes]], tmp_path: Path
):
    _, process = stuck_backup
    process.terminate()
    assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert list_names(tmp_path / "kept") == [".file.abcdefgh.unfinished"]


def test_next_backup_removes_files_of_a_killed_one(
    stuck_backup: tuple[Server, subprocess.Popen[bytes]], tmp_path: Path
):
    server, process = stuck_backup
    folder = tmp_path / "kept"
    assert run_command(server, "backup", str(folder / "file"))[0] == 0
    names = list_names(folder)
    assert len(names) == 3, "the other one is being written"
    process.kill()
    process.wait(timeout=60)
    assert list_names(folder) == names
    assert run_command(server, "backup", str(folder / "next file"))[0] == 0
    assert list_names(folder) == [".file.abcdefgh.unfinished", "file", "next file"]


def test_backup_without_data_is_one_line_and_makes_none(live: Live, tmp_path: Path):
    server = live(start=False)
    code, output = run_command(server, "backup", str(tmp_path / "file"))
    assert code == 1
    assert output.startswith("CommandError: There is nothing to back up: ")
    assert not list(server.data.glob("*.sqlite3"))
    assert not (tmp_path / "file").exists()


def test_backup_reads_the_schema_that_the_address_of_the_database_names(
    live: Live, postgres: Cluster, tmp_path: Path
):
    url = postgres.make_migrated()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER SCHEMA public RENAME TO tenant")
    server = live(start=False, DATABASE_URL=f"{url}?options=-c%20search_path%3Dtenant")
    code, output = run_command(server, "backup", str(tmp_path / "file"))
    assert code == 0, output


@pytest.mark.django_db(transaction=True)
def test_backup_into_a_path_that_cannot_be_looked_up_is_one_line(tmp_path: Path):
    path = str(tmp_path / ("x" * 300))
    with pytest.raises(CommandError, match=f"^{path} cannot be written: File name too long"):
        call("backup", path)

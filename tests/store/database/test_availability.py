"""Each way in which a database refuses its work has a line of its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from django.db import IntegrityError, OperationalError, ProgrammingError
from psycopg import errors
from psycopg.pq import DiagnosticField

from jpweb.store.database.availability import Outage, find_outage
from tests.machine.servers import Cluster

Break = Callable[[Path], object]


def connect(path: Path, **options: object) -> sqlite3.Connection:
    connection: sqlite3.Connection = sqlite3.connect(
        path, isolation_level=None, timeout=0, **options
    )  # type: ignore[call-overload]  # passed on
    if not options:
        connection.execute("CREATE TABLE IF NOT EXISTS thing (text TEXT)")
    return connection


def lock(path: Path) -> object:
    connect(path).execute("BEGIN IMMEDIATE")
    holder = connect(path)
    holder.execute("BEGIN IMMEDIATE")
    return connect(path).execute("BEGIN IMMEDIATE")


def fill(path: Path) -> object:
    line = connect(path)
    line.execute("PRAGMA max_page_count=2")
    return line.execute("INSERT INTO thing VALUES (?)", ["x" * 100_000])


def protect(path: Path) -> object:
    connect(path).close()
    return connect(Path(f"file:{path}?mode=ro"), uri=True).execute("DELETE FROM thing")


def damage(path: Path) -> object:
    path.write_bytes(b"no database" * 100)
    return connect(path)


@pytest.mark.parametrize(
    ("break_it", "outage"),
    [
        pytest.param(lock, Outage.LOCKED, id="locked"),
        pytest.param(fill, Outage.FULL, id="full"),
        pytest.param(protect, Outage.READ_ONLY, id="read-only"),
        pytest.param(damage, Outage.DAMAGED, id="damaged"),
        pytest.param(
            lambda path: connect(path).execute("SELECT more FROM thing"), Outage.SCHEMA, id="column"
        ),
        pytest.param(
            lambda path: connect(path).execute("INSERT INTO thing (more) VALUES (1)"),
            Outage.SCHEMA,
            id="new column",
        ),
        pytest.param(
            lambda path: connect(path).execute("SELECT * FROM other"), Outage.SCHEMA, id="table"
        ),
        pytest.param(lambda path: connect(path / "no" / "folder"), Outage.LOST, id="away"),
    ],
)
def test_find_outage_of_sqlite_error_names_its_kind(
    tmp_path: Path, break_it: Break, outage: Outage
):
    with pytest.raises(sqlite3.DatabaseError) as raised:
        break_it(tmp_path / "data")
    assert find_outage(raised.value) is outage
    wrapped = OperationalError(str(raised.value))
    wrapped.__cause__ = raised.value
    assert find_outage(wrapped) is outage


@pytest.mark.parametrize(
    ("statement", "outage"),
    [
        ("SELECT more FROM pg_class", Outage.SCHEMA),
        ("SELECT * FROM other", Outage.SCHEMA),
        ("SET statement_timeout = 1; SELECT pg_sleep(9)", Outage.SILENT),
        ("SET default_transaction_read_only = on; CREATE TABLE other ()", Outage.READ_ONLY),
        ("SELECT pg_terminate_backend(pg_backend_pid())", Outage.LOST),
    ],
    ids=["column", "table", "timeout", "read-only", "terminated"],
)
def test_find_outage_of_postgresql_error_names_its_kind(
    postgres: Cluster, statement: str, outage: Outage
):
    *before, last = statement.split(";")
    with psycopg.connect(postgres.address, dbname="postgres", autocommit=True) as line:
        for part in before:
            line.execute(part)
        with pytest.raises(psycopg.Error) as raised:
            line.execute(last)
    wrapped = OperationalError(str(raised.value))
    wrapped.__cause__ = raised.value
    assert find_outage(wrapped) is outage


@pytest.mark.parametrize(
    ("error", "outage"),
    [
        (errors.LockNotAvailable, Outage.LOCKED),
        (errors.DeadlockDetected, Outage.LOCKED),
        (errors.DiskFull, Outage.FULL),
        (errors.TooManyConnections, Outage.LOST),
        (errors.AdminShutdown, Outage.LOST),
        (errors.DataCorrupted, Outage.DAMAGED),
    ],
)
def test_find_outage_of_sqlstate_names_its_kind(error: type[psycopg.Error], outage: Outage):
    assert find_outage(error("…")) is outage


def test_find_outage_of_a_panic_is_not_rolled_back():
    severity: dict[int, bytes | None] = {DiagnosticField.SEVERITY_NONLOCALIZED: b"PANIC"}
    outage = find_outage(errors.DiskFull("could not write to file", info=severity))
    assert outage is Outage.LOST
    assert not outage.is_rolled_back


def test_find_outage_of_a_silent_connection_is_not_rolled_back():
    outage = find_outage(OperationalError("the server has not replied for 3 seconds"))
    assert outage is Outage.SILENT
    assert not outage.is_rolled_back


def test_find_outage_of_a_fault_of_the_program_is_none():
    assert find_outage(IntegrityError("UNIQUE constraint failed")) is None
    assert find_outage(ProgrammingError("syntax error")) is None
    assert find_outage(OperationalError("server closed the connection")) is Outage.LOST


def test_outage_titles_and_advice_differ():
    assert (
        len({outage.title for outage in Outage}) == len({e.advice for e in Outage}) == len(Outage)
    )

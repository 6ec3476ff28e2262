"""How long an act's entry in the ledger takes, against a bare insert of the same row.

Each insert is a transaction of its own, as an act is, synced to disk on both sides. Sealing is on
our side, too: a batch for all entries of the round.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

from django.apps import apps
from django.db import connection, transaction

from jpweb.store.choices import Act
from jpweb.store.ledger import sealing
from jpweb.store.ledger.entries import Actor, Place, record_act
from tests.load.benchmark import BenchRun, Progress, measure_interleaved
from tests.load.databases import use_database

ACTOR = Actor("person", "Ada", 1)
DETAILS = {
    "outcome": "answered",
    "event": "e-0123456789",
    "event_hash": "0" * 64,
    "asked_at": "2026-11-28T05:00:00.123456+00:00",
}


def measure_append(bench: BenchRun, progress: Progress) -> tuple[float, float]:
    """Return the milliseconds of an entry, and of a bare insert of the same row."""
    count = bench.size.ledger_entries
    with use_database(bench.make_database()):
        _record_and_seal(2)  # compiles the statements
        statement, values = _read_bare_row()
        value, floor = measure_interleaved(
            bench,
            lambda: _record_and_seal(count),
            lambda: _insert_bare(count, statement, values),
            progress,
        )
    return value * 1000 / count, floor * 1000 / count


def _record_and_seal(count: int) -> float:
    start_time = perf_counter()
    for number in range(count):
        with transaction.atomic():
            place = Place(1, 1, f"inquiry:{number}")
            record_act(Act.INQUIRY_ANSWERED, ACTOR, place, **DETAILS)
    sealing.seal_entries()
    return perf_counter() - start_time


def _read_bare_row() -> tuple[str, list[Any]]:
    """Return the statement that inserts a row like the newest one, and its values."""
    entry_model = apps.get_model("store", "LedgerEntry")
    names = [str(field.column) for field in entry_model._meta.concrete_fields if field.name != "id"]
    with connection.cursor() as cursor:
        columns = ", ".join(names)
        cursor.execute(f"SELECT {columns} FROM store_ledgerentry ORDER BY id DESC LIMIT 1")  # noqa: S608  own names
        values = list(cursor.fetchone())
    values[names.index("sequence")] = None
    marks = ", ".join(["%s"] * len(names))
    return f"INSERT INTO store_ledgerentry ({columns}) VALUES ({marks})", values  # noqa: S608  own names


def _insert_bare(count: int, statement: str, values: list[Any]) -> float:
    start_time = perf_counter()
    for _ in range(count):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement, values)
    seconds = perf_counter() - start_time
    # Not sealed by the next round: these rows are all one.
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM store_ledgerentry WHERE sequence IS NULL")
    return seconds

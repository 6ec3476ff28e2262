"""Every process reads the database's clock, however wrong its machine's is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.backends.signals import connection_created

from jpweb.store.database import clock

OFFSET = timedelta(minutes=10)


class Cursor:
    """Answers with a time that is some way from this machine's, after a while."""

    def __init__(self, offset: timedelta, seconds: float = 0.0) -> None:
        self.offset, self.seconds, self.asked = offset, seconds, 0

    def execute(self, _statement: str) -> None:
        self.asked += 1

    def fetchall(self) -> list[tuple[datetime]]:
        return [(datetime.now(UTC) + self.offset,)]

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Connection:
    """A new connection to PostgreSQL."""

    vendor = "postgresql"

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor

    def cursor(self) -> Cursor:
        return self._cursor


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    origin, due_at = clock._offset.origin, clock._offset.due_at
    clock._offset.origin, clock._offset.due_at = None, 0.0
    yield
    clock._offset.origin, clock._offset.due_at = origin, due_at


def get_offset(at: datetime) -> timedelta:
    """Return how far a time is from this machine's, in whole minutes."""
    return timedelta(minutes=round((at - datetime.now(UTC)).total_seconds() / 60))


@pytest.mark.parametrize("offset", [OFFSET, -OFFSET], ids=["ahead", "behind"])
def test_clock_now_returns_the_database_time(offset: timedelta):
    cursor: Any = Cursor(offset)
    clock.measure_offset(cursor)
    assert get_offset(clock.now()) == offset
    assert clock.get_timestamp() == pytest.approx(clock.now().timestamp(), abs=1)


def test_clock_now_without_a_measurement_returns_the_machine_time():
    assert get_offset(clock.now()) == timedelta(0)


def test_measure_within_the_round_trip_changes_nothing(monkeypatch: pytest.MonkeyPatch):
    ticks = iter([100.0, 100.0, 200.0, 200.5])
    monkeypatch.setattr(clock, "read_boot_clock", lambda: next(ticks))
    at = datetime(2026, 1, 1, tzinfo=UTC)

    class Fixed(Cursor):
        def fetchall(self) -> list[tuple[datetime]]:
            return [(at,)]

    cursor: Any = Fixed(OFFSET)
    clock.measure_offset(cursor)
    origin = clock._offset.origin
    at += timedelta(seconds=100.3)
    clock.measure_offset(cursor)
    assert clock._offset.origin == origin


def test_new_connection_measures_once_in_a_while(monkeypatch: pytest.MonkeyPatch):
    cursor = Cursor(OFFSET)
    for _ in range(3):
        connection_created.send(Connection, connection=Connection(cursor))
    assert cursor.asked == 1
    assert get_offset(clock.now()) == OFFSET
    monkeypatch.setattr(clock._offset, "due_at", 0.0)
    connection_created.send(Connection, connection=Connection(cursor))
    assert cursor.asked == 2


@pytest.mark.parametrize("hours", [8, -8], ids=["later", "earlier"])
def test_new_connection_after_a_jump_of_the_machine_measures(
    monkeypatch: pytest.MonkeyPatch, hours: int
):
    """While a virtual machine is paused its clocks stand still; afterwards one of them is set."""

    class Shifted(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Shifted:
            return cls.fromtimestamp(time.time(), tz) + timedelta(hours=hours)

    cursor = Cursor(timedelta(0))
    connection_created.send(Connection, connection=Connection(cursor))
    monkeypatch.setattr(clock, "datetime", Shifted)
    cursor.offset = timedelta(hours=hours)
    for _ in range(2):
        connection_created.send(Connection, connection=Connection(cursor))
    assert cursor.asked == 2
    assert get_offset(clock.now()) == timedelta(hours=hours)


def test_clock_now_advances_while_the_machine_sleeps(monkeypatch: pytest.MonkeyPatch):
    slept_seconds, read = 0, time.clock_gettime

    def read_clock(clock_id: int) -> float:
        includes_sleep = clock_id == getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
        return read(clock_id) + (slept_seconds if includes_sleep else 0)

    monkeypatch.setattr(time, "clock_gettime", read_clock)
    cursor: Any = Cursor(OFFSET)
    clock.measure_offset(cursor)
    slept_seconds = 3600
    assert get_offset(clock.now()) == OFFSET + timedelta(hours=1)


def test_database_and_process_agree_to_the_second(db: None):
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            clock.measure_offset(cursor)
            cursor.execute("SELECT extract(epoch FROM clock_timestamp())")
        else:
            cursor.execute("SELECT strftime('%s', 'now')")
        ((at,),) = cursor.fetchall()
    assert abs(clock.get_timestamp() - float(at)) < 30

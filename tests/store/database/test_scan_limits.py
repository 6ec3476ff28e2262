"""The time limit of scans: a slow query ends with one clear reason, and only within its block."""

from __future__ import annotations

import pytest
from django.db import OperationalError, connection

from jpweb.store.database import scan_limits
from jpweb.store.database.availability import Outage, find_outage
from jpweb.store.database.scan_limits import limit_scans

pytestmark = pytest.mark.django_db
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture(autouse=True)
def _on_sqlite() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("the other database has a statement timeout")


def count_to(number: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"{ENDLESS.replace('FROM n)', 'FROM n WHERE i < %s)')}", [number])
        return int(cursor.fetchone()[0])


def test_query_above_the_limit_is_interrupted_with_its_reason(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scan_limits, "MAX_SCAN_SECONDS", 0.05)
    with pytest.raises(OperationalError) as caught, limit_scans(), connection.cursor() as cursor:
        cursor.execute(ENDLESS)
    assert find_outage(caught.value) is Outage.STOPPED


def test_second_query_of_a_block_is_interrupted_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scan_limits, "MAX_SCAN_SECONDS", 0.05)
    with limit_scans():
        for _ in range(2):
            with pytest.raises(OperationalError), connection.cursor() as cursor:
                cursor.execute(ENDLESS)


def test_query_after_the_block_has_no_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scan_limits, "MAX_SCAN_SECONDS", 0.001)
    monkeypatch.setattr(scan_limits, "_REPEAT_SECONDS", 0.001)
    with limit_scans():
        pass
    assert count_to(1_000_000) == 1_000_000


def test_advice_names_the_limit():
    assert f"{scan_limits.MAX_SCAN_SECONDS:g} seconds" in Outage.STOPPED.advice

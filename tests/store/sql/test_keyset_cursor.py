from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jpweb.store.sql import keyset_cursor
from jpweb.store.sql.keyset_cursor import Cursor

RANKS = st.integers(min_value=0, max_value=2**63 - 1)
COUNTS = st.integers(min_value=0, max_value=2**31 - 1)
INSTANTS = st.datetimes(timezones=st.just(UTC))


@given(INSTANTS, RANKS)
def test_parse_cursor_returns_the_instant_of_its_text(value: datetime, rank: int):
    assert keyset_cursor.parse_cursor(str(Cursor(value, rank)), is_time=True) == Cursor(value, rank)


@given(COUNTS, RANKS)
def test_parse_cursor_returns_the_number_of_its_text(value: int, rank: int):
    spelled = str(Cursor(value, rank))
    assert keyset_cursor.parse_cursor(spelled, is_time=False) == Cursor(value, rank)


@given(st.text(alphabet="0123456789_-+ x\u0661\u00b2", max_size=40), st.booleans())
def test_parse_cursor_of_any_text_returns_a_key_or_none(text: str, instants: bool):
    key = keyset_cursor.parse_cursor(text, is_time=instants)
    assert key is None or keyset_cursor.parse_cursor(str(key), is_time=instants) == key


@given(st.integers(), st.integers())
def test_a_key_is_none_that_no_database_takes(value: int, rank: int):
    key = keyset_cursor.parse_cursor(f"{value}_{rank}", is_time=False)
    assert (key is not None) == (0 <= value < 2**31 and abs(rank) < 2**63)


@pytest.mark.parametrize(("value", "is_key"), [(-1, False), (0, True), (2**31, False)])
def test_a_key_is_none_that_no_column_of_counts_takes(value: int, is_key: bool):
    assert (keyset_cursor.parse_cursor(f"{value}_1", is_time=False) is not None) == is_key
    assert keyset_cursor.parse_cursor(f"{value}_1", is_time=True) is not None


@pytest.mark.parametrize(
    "spelled",
    ["2026-01-02 03:04:05", "2026-01-02 03:04:05.000000", datetime(2026, 1, 2, 3, 4, 5)],
)
def test_an_instant_of_a_database_has_a_zone(spelled: str | datetime):
    assert keyset_cursor.normalize_value(spelled) == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_an_instant_that_has_a_zone_keeps_it():
    east = datetime(2026, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    assert keyset_cursor.normalize_value(east) == east
    assert keyset_cursor.normalize_value(7) == 7

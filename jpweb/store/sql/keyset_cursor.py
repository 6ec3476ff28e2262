"""Keyset cursor of a list: a value and a rank, as a URL spells it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Resolution of instants in the database; a float of seconds is too coarse for distant years.
_RESOLUTION = timedelta(microseconds=1)
#: Largest integer of SQLite and PostgreSQL (64 bits, signed).
_MAX_INTEGER = 2**63 - 1
#: Largest value of a column of counts: for a larger one Django raises an error or makes no query.
_MAX_COUNT = 2**31 - 1


class Cursor(NamedTuple):
    """A position in an order: an instant, a number or a text, then a rank for equal values.

    That of a text is in no URL.
    """

    value: datetime | int | str
    rank: int

    def __str__(self) -> str:
        value = self.value
        number = (value - _EPOCH) // _RESOLUTION if isinstance(value, datetime) else value
        return f"{number}_{self.rank}"


def parse_cursor(text: str, *, is_time: bool) -> Cursor | None:
    """Return the cursor that a URL spells, or None for an invalid one.

    A number is a count, so one that no column of counts takes is of another order, and invalid.
    """
    number, _, rank = text.partition("_")
    try:
        value, rank_number = int(number), int(rank)
        if max(abs(value), abs(rank_number)) > _MAX_INTEGER:
            return None
        if not is_time and not 0 <= value <= _MAX_COUNT:
            return None
        return Cursor(_EPOCH + value * _RESOLUTION if is_time else value, rank_number)
    except (ValueError, OverflowError):
        return None


def normalize_value(value: datetime | str | int) -> datetime | int:
    """Return a raw value of the database as an aware datetime or a number."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return value

"""Where a page of a list ends: a value and a key, as an address spells it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: What a database tells apart; a float is too coarse for years far away.
_UNIT = timedelta(microseconds=1)
#: The largest number that every database takes.
_MOST = 2**63 - 1


class Key(NamedTuple):
    """A place in an order: an instant or a number, then what tells equal ones apart."""

    value: datetime | int
    rank: int

    def __str__(self) -> str:
        value = self.value
        number = (value - _EPOCH) // _UNIT if isinstance(value, datetime) else value
        return f"{number}_{self.rank}"


def read(text: str, *, instants: bool) -> Key | None:
    """Return the key that an address spells, or None where it spells none."""
    number, _, rank = text.partition("_")
    try:
        value, key = int(number), int(rank)
        if max(abs(value), abs(key)) > _MOST:
            return None
        return Key(_EPOCH + value * _UNIT if instants else value, key)
    except (ValueError, OverflowError):
        return None


def instant(value: datetime | str | int) -> datetime | int:
    """Return a value as it comes from a database's own hands: an instant has a zone."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return value

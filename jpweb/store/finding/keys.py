"""The keys of passages: each begins with its instant, so that the order of keys is that of time.

A key is 63 bits: the milliseconds since 1970, and 21 bits that tell passages of one instant apart,
in the order of their conversation unless others are there. Instants before 1970 or after 2109 count
as the first and the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNIT = timedelta(milliseconds=1)
_LOW = 21
_ROOM = 1 << _LOW
_LAST = (1 << 42) - 1
#: Tries within one instant before the next millisecond is taken.
_TRIES = 16
#: Keys between two entries of one instant, for the parts of the first.
_PARTS = 4


class Place(NamedTuple):
    """What a key is made for."""

    at: datetime
    conversation_id: int
    position: int
    part: int


def since(moment: datetime) -> int:
    """Return the smallest key of an instant."""
    return min(max((moment - _EPOCH) // _UNIT, 0), _LAST) << _LOW


def instant(key: int) -> datetime:
    """Return the instant of a key, to the millisecond."""
    return _EPOCH + (key >> _LOW) * _UNIT


def allot(places: Sequence[Place], taken: Callable[[list[int]], set[int]]) -> list[int]:
    """Return a key for each place, all different; ``taken`` tells which of some keys are."""
    made = [0] * len(places)
    own: set[int] = set()
    left = list(range(len(places)))
    tries = 0
    while left:
        wanted = [_key(places[which], tries) for which in left]
        used = taken(wanted)
        again = []
        for which, key in zip(left, wanted, strict=True):
            if key in used or key in own:
                again.append(which)
            else:
                made[which] = key
                own.add(key)
        left = again
        tries += 1
    return made


def _key(place: Place, tries: int) -> int:
    """Return where a place looks for a key, at the how-manieth try."""
    later, nth = divmod(tries, _TRIES)
    instant = min((since(place.at) >> _LOW) + later, _LAST)
    low = (place.position + 1) * _PARTS + place.part
    # The steps of two conversations differ, so copies of one with its times soon stand apart.
    step = (place.conversation_id * 0x9E3779B1 | 1) * nth * nth + later * nth
    return (instant << _LOW) | ((low + step) % _ROOM)

"""Queries by keys whose SQL is made once: making it takes many times as long as running it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from django.db import connection
from django.db.models import QuerySet

Key = int | str

#: Stands for the first key where the SQL is made; the others count down from it. No row has them.
_STAND_IN = -(2**40)


class Prepared:
    """A query that differs from call to call in keys alone.

    ``make`` returns it, as a ``values_list``, for lists of keys, which are numbers or short texts;
    each has to be looked for by ``__in``, once or several times. A call takes as many lists, none
    of them empty.
    """

    def __init__(self, make: Callable[..., QuerySet[Any, Any]]) -> None:
        self._make = make
        self._made: dict[tuple[str, tuple[int, ...]], _Made] = {}

    def __call__(self, *keys: Sequence[Key]) -> list[tuple[Any, ...]]:
        """Return the rows for these keys."""
        lists = [_filled(each) for each in keys]
        sizes = tuple(map(len, lists))
        made = self._made.get((connection.vendor, sizes))
        if made is None:
            made = self._made[connection.vendor, sizes] = _Made(self._make, sizes)
        return made.run(lists)


class _Made:
    """The SQL for so many keys, where each of them goes, and what reads its columns."""

    def __init__(self, make: Callable[..., QuerySet[Any, Any]], sizes: Sequence[int]) -> None:
        place = iter(range(sum(sizes)))
        stands = [[_STAND_IN - next(place) for _ in range(size)] for size in sizes]
        compiler = make(*stands).query.get_compiler(connection=connection)
        self.sql, params = compiler.as_sql()
        self.params = tuple(params)
        # A column of text takes its stand-ins as text.
        numbers = {str(key): at for at, key in enumerate(key for keys in stands for key in keys)}
        self.places = [
            (at, numbers[str(param)])
            for at, param in enumerate(self.params)
            if str(param) in numbers
        ]
        shown = [each[0] for each in compiler.select[: compiler.col_count]]
        found = compiler.get_converters(shown).items()
        self.readers = [
            (column, [partial(_read, reader, expression) for reader in readers])
            for column, (readers, expression) in found
        ]

    def run(self, lists: list[list[Key]]) -> list[tuple[Any, ...]]:
        """Return the rows for these keys."""
        keys = [key for each in lists for key in each]
        params = list(self.params)
        for at, number in self.places:
            params[at] = keys[number]
        with connection.cursor() as cursor:
            cursor.execute(self.sql, params)
            rows = cursor.fetchall()
        return list(self._values(rows)) if self.readers else rows

    def _values(self, rows: list[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        for row in rows:
            values = list(row)
            for column, readers in self.readers:
                for read in readers:
                    values[column] = read(values[column])
            yield tuple(values)


def _read(reader: Callable[..., Any], expression: Any, value: Any) -> Any:
    return reader(value, expression, connection)


def _filled(keys: Sequence[Key]) -> list[Key]:
    """Return keys, the last of them repeated: of lists of many lengths few are told apart."""
    size = 1 << (len(keys) - 1).bit_length()
    return [*keys, *[keys[-1]] * (size - len(keys))]

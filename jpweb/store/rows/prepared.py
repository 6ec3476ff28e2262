"""Queries by keys whose SQL is made once: making it takes many times as long as running it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import QuerySet
from django.db.models.query import get_related_populators
from django.db.transaction import TransactionManagementError

Key = int | str

#: Stands for the first key where the SQL is made; the others count down from it. No row has them.
_STAND_IN = -(2**40)


class Prepared:
    """A query that differs from call to call in keys alone.

    ``make`` returns it, for instances or as a ``values_list``, for lists of keys, which are numbers
    or short texts; each has to be looked for by ``__in``, once or several times. A call takes as
    many lists, none of them empty. What is compared otherwise (``__gte``, ``__contains``) is a list
    of one, whose key is put into the query as a ``Value``.
    """

    def __init__(self, make: Callable[..., QuerySet[Any, Any]]) -> None:
        self._make = make
        self._made: dict[tuple[str, tuple[int, ...]], _Made] = {}

    def __call__(self, *keys: Sequence[Key]) -> list[Any]:
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
        query = make(*stands).query
        compiler = query.get_compiler(connection=connection)
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
            (column, reader, expression)
            for column, (readers, expression) in found
            for reader in readers
        ]
        self.entities = _Entities(compiler) if query.default_cols else None
        self.locks = query.select_for_update and connection.features.has_select_for_update

    def run(self, lists: list[list[Key]]) -> list[Any]:
        """Return the rows for these keys."""
        keys = [key for each in lists for key in each]
        params = list(self.params)
        for at, number in self.places:
            params[at] = keys[number]
        if self.locks and connection.get_autocommit():
            raise TransactionManagementError("A lock would be gone with the query.")
        with connection.cursor() as cursor:
            cursor.execute(self.sql, params)
            rows = cursor.fetchall()
        values = self._values(rows) if self.readers else rows
        return list(values) if self.entities is None else self.entities.of(values)

    def _values(self, rows: list[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        own = connections[DEFAULT_DB_ALIAS]
        for row in rows:
            values = list(row)
            for column, read, expression in self.readers:
                values[column] = read(values[column], expression, own)
            yield tuple(values)


class _Entities:
    """Makes a model's instances of rows, with those that were selected with them."""

    def __init__(self, compiler: Any) -> None:
        info = compiler.klass_info
        columns = info["select_fields"]
        self.model = info["model"]
        self.own = slice(columns[0], columns[-1] + 1)
        self.names = [each[0].target.attname for each in compiler.select[self.own]]
        self.related = get_related_populators(  # type: ignore[call-arg]  # stubs of a later Django
            info, compiler.select, DEFAULT_DB_ALIAS
        )

    def of(self, rows: Iterable[Sequence[Any]]) -> list[Any]:
        """Return an instance for each row."""
        made = []
        for row in rows:
            one = self.model.from_db(DEFAULT_DB_ALIAS, self.names, row[self.own])
            for each in self.related:
                each.populate(row, one)
            made.append(one)
        return made


def _filled(keys: Sequence[Key]) -> list[Key]:
    """Return keys, the last of them repeated: of lists of many lengths few are told apart."""
    size = 1 << (len(keys) - 1).bit_length()
    return [*keys, *[keys[-1]] * (size - len(keys))]

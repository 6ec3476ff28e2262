"""Caches the compiled SQL of key lookups: Django's compiler costs 3 to 50 times the query.

The ORM takes 2.6 times as long for ``inquiries.get_inquiry``, 4.7 times for the same of
``conversations``, 8.4 times for ``get_roles_in`` and 49 times for ``get_workspace_queues``.

Figures beside the queries are processor time on SQLite, of a call that finds one row or none. A
query that no benchmark, answer or frequent page runs takes the ORM.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import QuerySet
from django.db.models.base import ModelState
from django.db.models.query import get_related_populators
from django.db.transaction import TransactionManagementError

from jpweb.store.sql import column_converters

QueryKey = int | str

#: Placeholder of the first key during compilation; further ones count down. No row has such keys.
_PLACEHOLDER = -(2**40)


class CompiledQuery:
    """A query whose calls differ only in keys.

    ``build_query`` takes lists of keys (numbers or short texts) and returns a queryset of
    instances or a ``values_list``; it uses each list in one or more ``__in`` lookups. A call
    takes as many lists, none of them empty. For another lookup (``__gte``, ``__contains``) pass
    a list of one key, which ``build_query`` wraps in ``Value``.
    """

    def __init__(self, build_query: Callable[..., QuerySet[Any, Any]]) -> None:
        self._build_query = build_query
        self._compiled: dict[tuple[str, tuple[int, ...]], _CompiledSql] = {}

    def __call__(self, *keys: Sequence[QueryKey]) -> list[Any]:
        """Return the rows for these keys."""
        lists = [_pad_keys(key_list) for key_list in keys]
        sizes = tuple(map(len, lists))
        compiled_sql = self._compiled.get((connection.vendor, sizes))
        if compiled_sql is None:
            compiled_sql = self._compiled[connection.vendor, sizes] = _CompiledSql(
                self._build_query, sizes
            )
        return compiled_sql.fetch_rows(lists)


class _CompiledSql:
    """The SQL for lists of given sizes, its parameters, and the converters of its columns."""

    def __init__(
        self, build_query: Callable[..., QuerySet[Any, Any]], sizes: Sequence[int]
    ) -> None:
        numbers_iterator = iter(range(sum(sizes)))
        placeholders = [
            [_PLACEHOLDER - next(numbers_iterator) for _ in range(size)] for size in sizes
        ]
        query = build_query(*placeholders).query
        compiler = query.get_compiler(connection=connection)
        self.sql, params = compiler.as_sql()
        self.params = tuple(params)
        # A text column turns its placeholders into text parameters.
        numbers = {
            str(key): index
            for index, key in enumerate(key for keys in placeholders for key in keys)
        }
        self.key_indexes = [
            (index, numbers[str(param)])
            for index, param in enumerate(self.params)
            if str(param) in numbers
        ]
        expressions = [column_info[0] for column_info in compiler.select[: compiler.col_count]]
        converters_by_column = compiler.get_converters(expressions).items()
        self.converters = [
            (column, column_converters.choose_converter(converter, expression), expression)
            for column, (converters, expression) in converters_by_column
            for converter in converters
        ]
        self.instance_builder = _InstanceBuilder(compiler) if query.default_cols else None
        self.needs_lock = query.select_for_update and connection.features.has_select_for_update

    def fetch_rows(self, lists: list[list[QueryKey]]) -> list[Any]:
        """Return the rows for these keys."""
        keys = [key for key_list in lists for key in key_list]
        params = list(self.params)
        for index, number in self.key_indexes:
            params[index] = keys[number]
        if self.needs_lock and connection.get_autocommit():
            raise TransactionManagementError("A lock would be gone with the query.")
        with connection.cursor() as cursor:
            cursor.execute(self.sql, params)
            rows = cursor.fetchall()
        values = self._convert(rows) if self.converters else rows
        return (
            list(values)
            if self.instance_builder is None
            else self.instance_builder.build_instances(values)
        )

    def _convert(self, rows: list[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        wrapper = connections[DEFAULT_DB_ALIAS]
        for row in rows:
            values = list(row)
            for column, convert, expression in self.converters:
                values[column] = convert(values[column], expression, wrapper)
            yield tuple(values)


class _InstanceBuilder:
    """Builds a model's instances from rows, with annotations and selected related instances."""

    def __init__(self, compiler: Any) -> None:
        info = compiler.klass_info
        columns = info["select_fields"]
        self.model = info["model"]
        self.own_columns = slice(columns[0], columns[-1] + 1)
        self.field_names = [
            column_info[0].target.attname for column_info in compiler.select[self.own_columns]
        ]
        self.annotation_columns = dict(compiler.annotation_col_map or {})
        self.related_populators = get_related_populators(  # type: ignore[call-arg]  # stubs of a later Django
            info, compiler.select, DEFAULT_DB_ALIAS
        )

    def build_instances(self, rows: Iterable[Sequence[Any]]) -> list[Any]:
        """Return an instance for each row.

        Without ``Model.__init__``, which took a fifth of the time of a list of 100 rows: no model
        here overrides it or listens to its signals.
        """
        instances = []
        for row in rows:
            instance = self.model.__new__(self.model)
            state = ModelState()
            state.adding, state.db = False, DEFAULT_DB_ALIAS
            values = zip(self.field_names, row[self.own_columns], strict=True)
            annotations = {name: row[i] for name, i in self.annotation_columns.items()}
            vars(instance).update(values, _state=state, **annotations)
            for populator in self.related_populators:
                populator.populate(row, instance)
            instances.append(instance)
        return instances


def _pad_keys(keys: Sequence[QueryKey]) -> list[QueryKey]:
    """Return the keys, padded to a power of two by the last: fewer lengths are compiled."""
    size = 1 << (len(keys) - 1).bit_length()
    return [*keys, *[keys[-1]] * (size - len(keys))]

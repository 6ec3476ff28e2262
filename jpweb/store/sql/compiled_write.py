"""Inserts and updates of rows with cached SQL: compiling costs many times the execution.

Equivalent to ``Model.save`` and ``QuerySet.update``, without expressions and signals: these take
2.9 times as long for an insert and 4.5 times for an update.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, TypeAlias

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import (
    CharField,
    DateTimeField,
    Field,
    ForeignKey,
    IntegerField,
    Model,
    TextField,
)
from django.db.models.options import Options

_Field: TypeAlias = "Field[Any, Any]"


def insert_row(row: Model) -> None:
    """Insert a row, and set its key to the generated one.

    A column with a database default needs a value. Raises IntegrityError.
    """
    statement = _compile_insert(type(row), connection.vendor)
    row.pk = statement.insert([getattr(row, name) for name in statement.names])
    state = row._state  # noqa: SLF001  Django documents it
    state.adding, state.db = False, DEFAULT_DB_ALIAS


def insert_values(model: type[Model], values: Mapping[str, Any]) -> int:
    """Insert a row of ``model`` with all its columns but the key; return the generated key.

    As ``insert_row``, without an instance: making one takes 0.012 ms after a synced commit.
    """
    statement = _compile_insert(model, connection.vendor)
    return statement.insert([values[name] for name in statement.names])


def insert_rows(rows: Sequence[Model]) -> None:
    """Insert rows of one model in their order; they get no keys. Raises as ``insert_row``."""
    if not rows:
        return
    statement = _compile_insert(type(rows[0]), connection.vendor)
    values_of_rows = [[getattr(row, name) for name in statement.names] for row in rows]
    with connection.cursor() as cursor:
        params = [statement.prepare_params(values, cursor.db) for values in values_of_rows]
        cursor.executemany(statement.sql, params)


def update_rows(model: type[Model], conditions: Mapping[str, Any], **values: Any) -> int:
    """Overwrite columns of the rows that match all ``conditions``; return the row count.

    Columns are named by attribute (``run_id``). Values in ``conditions`` are never None.
    """
    statement = _compile_update(model, tuple(values), tuple(conditions), connection.vendor)
    return statement.execute([*values.values(), *conditions.values()])


def delete_rows(model: type[Model], conditions: Mapping[str, Any]) -> int:
    """Delete the rows that match all ``conditions``, as in ``update_rows``; return the row count.

    No other row may reference them.
    """
    return _compile_delete(model, tuple(conditions), connection.vendor).execute(conditions.values())


class _WriteStatement:
    """A statement, and the preparers of its values."""

    def __init__(self, sql: str, fields: Iterable[_Field], *, returns_key: bool = False) -> None:
        self.sql, self.returns_key = sql, returns_key
        self.names = [field.attname for field in fields]
        self._preparers: list[tuple[Callable[..., Any], type]] = [
            (_find_preparer(field), _find_stored_type(field)) for field in fields
        ]

    def prepare_params(self, values: Iterable[Any], wrapper: BaseDatabaseWrapper) -> list[Any]:
        """Return values as the database takes them; most need no preparation."""
        return [
            value if value is None or type(value) is stored_type else prepare(value, wrapper)
            for (prepare, stored_type), value in zip(self._preparers, values, strict=True)
        ]

    def insert(self, values: Iterable[Any]) -> int:
        """Execute an INSERT; return the generated key."""
        with connection.cursor() as cursor:
            cursor.execute(self.sql, self.prepare_params(values, cursor.db))
            return int(cursor.fetchone()[0] if self.returns_key else cursor.lastrowid)

    def execute(self, values: Iterable[Any]) -> int:
        with connection.cursor() as cursor:
            cursor.execute(self.sql, self.prepare_params(values, cursor.db))
            return int(cursor.rowcount)


# The caches are unbounded: they hold one statement per call site and vendor.


@cache
def _compile_insert(model: type[Model], vendor: str) -> _WriteStatement:
    (key,) = _find_fields(model, ["id"])
    fields = [field for field in _get_model_options(model).concrete_fields if field is not key]
    names = ", ".join(map(_quote_column, fields))
    marks = ", ".join(["%s"] * len(fields))
    sql = f"INSERT INTO {_quote_table(model)} ({names}) VALUES ({marks})"  # noqa: S608  own names
    # SQLite provides the key as ``cursor.lastrowid``.
    returns_key = vendor == "postgresql"
    return _WriteStatement(
        f"{sql} RETURNING {_quote_column(key)}" if returns_key else sql,
        fields,
        returns_key=returns_key,
    )


@cache
def _compile_update(
    model: type[Model], names: tuple[str, ...], where: tuple[str, ...], _vendor: str
) -> _WriteStatement:
    changed_fields, condition_fields = _find_fields(model, names), _find_fields(model, where)
    changes = ", ".join(f"{_quote_column(field)} = %s" for field in changed_fields)
    sql = (
        f"UPDATE {_quote_table(model)} SET {changes} WHERE {_build_equality_sql(condition_fields)}"  # noqa: S608  own names
    )
    return _WriteStatement(sql, [*changed_fields, *condition_fields])


@cache
def _compile_delete(model: type[Model], where: tuple[str, ...], _vendor: str) -> _WriteStatement:
    condition_fields = _find_fields(model, where)
    sql = f"DELETE FROM {_quote_table(model)} WHERE {_build_equality_sql(condition_fields)}"  # noqa: S608  own names
    return _WriteStatement(sql, condition_fields)


def _find_preparer(field: _Field) -> Callable[..., Any]:
    return _adapt_instant if isinstance(field, DateTimeField) else field.get_db_prep_save


def _adapt_instant(value: datetime, wrapper: BaseDatabaseWrapper) -> Any:
    """Return an aware datetime as the database takes it.

    The field's own preparation, which is for other types too, takes 0.005 ms after a synced commit.
    """
    return wrapper.ops.adapt_datetimefield_value(value)


def _find_stored_type(field: _Field) -> type:
    """Return the type whose values a field stores as they are; NoneType where there is none."""
    if isinstance(field, ForeignKey):
        return _find_stored_type(field.target_field)
    if isinstance(field, CharField | TextField):
        return str
    return int if isinstance(field, IntegerField) else type(None)


def _find_fields(model: type[Model], names: Iterable[str]) -> list[_Field]:
    fields_by_name = {field.attname: field for field in _get_model_options(model).concrete_fields}
    return [fields_by_name[name] for name in names]


def _build_equality_sql(fields: Iterable[_Field]) -> str:
    return " AND ".join(f"{_quote_column(field)} = %s" for field in fields)


def _get_model_options(model: type[Model]) -> Options[Any]:
    return model._meta  # noqa: SLF001  Django documents it


def _quote_table(model: type[Model]) -> str:
    return connection.ops.quote_name(_get_model_options(model).db_table)


def _quote_column(field: _Field) -> str:
    return connection.ops.quote_name(str(field.column))

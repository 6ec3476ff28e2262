"""One row at a time, by SQL that is made once: making it takes many times as long as running it.

As ``Model.save`` and ``QuerySet.update`` do it, but values are values: no expressions, no signals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, TypeAlias

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.models import Field, Model
from django.db.models.options import Options

_Field: TypeAlias = "Field[Any, Any]"


def insert(row: Model) -> None:
    """Insert a row as it is, and give it the key that the database chose.

    A column with a default of the database's own has to have a value. Raises IntegrityError.
    """
    made = _insert(type(row), connection.vendor)
    values = [getattr(row, name) for name in made.names]
    with connection.cursor() as cursor:
        cursor.execute(made.sql, made.params(values))
        row.pk = cursor.fetchone()[0] if made.returns else cursor.lastrowid
    state = row._state  # noqa: SLF001  Django documents it
    state.adding, state.db = False, DEFAULT_DB_ALIAS


def update(model: type[Model], where: Mapping[str, Any], **values: Any) -> int:
    """Overwrite columns of the rows that have all the values of ``where``; returns how many.

    Columns are named as a row's attributes (``run_id``). Values in ``where`` are never None.
    """
    made = _update(model, tuple(values), tuple(where), connection.vendor)
    return made.run([*values.values(), *where.values()])


def delete(model: type[Model], where: Mapping[str, Any]) -> int:
    """Delete the rows that have all these values, as of ``update``; returns how many.

    What hangs on such a row has to be nothing.
    """
    return _delete(model, tuple(where), connection.vendor).run(where.values())


class _Made:
    """A statement, and what makes of its values those of the database."""

    def __init__(self, sql: str, fields: Iterable[_Field], *, returns: bool = False) -> None:
        self.sql, self.returns = sql, returns
        self.names = [field.attname for field in fields]
        self._prepare: list[Callable[..., Any]] = [field.get_db_prep_save for field in fields]

    def params(self, values: Iterable[Any]) -> list[Any]:
        own = connections[DEFAULT_DB_ALIAS]  # which its proxy would look for once a value
        pairs = zip(self._prepare, values, strict=True)
        return [prepare(value, own) for prepare, value in pairs]

    def run(self, values: Iterable[Any]) -> int:
        with connection.cursor() as cursor:
            cursor.execute(self.sql, self.params(values))
            return int(cursor.rowcount)


# Each of these is kept: there are as many as places in the code that ask for one.


@cache
def _insert(model: type[Model], vendor: str) -> _Made:
    (key,) = _fields(model, ["id"])
    fields = [field for field in _about(model).concrete_fields if field is not key]
    names = ", ".join(map(_column, fields))
    marks = ", ".join(["%s"] * len(fields))
    sql = f"INSERT INTO {_table(model)} ({names}) VALUES ({marks})"  # noqa: S608  own names
    # SQLite tells the key of what was inserted last without being asked.
    returns = vendor == "postgresql"
    return _Made(f"{sql} RETURNING {_column(key)}" if returns else sql, fields, returns=returns)


@cache
def _update(
    model: type[Model], names: tuple[str, ...], where: tuple[str, ...], _vendor: str
) -> _Made:
    changed, known = _fields(model, names), _fields(model, where)
    changes = ", ".join(f"{_column(field)} = %s" for field in changed)
    sql = f"UPDATE {_table(model)} SET {changes} WHERE {_same(known)}"  # noqa: S608  own names
    return _Made(sql, [*changed, *known])


@cache
def _delete(model: type[Model], where: tuple[str, ...], _vendor: str) -> _Made:
    known = _fields(model, where)
    return _Made(f"DELETE FROM {_table(model)} WHERE {_same(known)}", known)  # noqa: S608  own names


def _fields(model: type[Model], names: Iterable[str]) -> list[_Field]:
    known = {field.attname: field for field in _about(model).concrete_fields}
    return [known[name] for name in names]


def _same(fields: Iterable[_Field]) -> str:
    return " AND ".join(f"{_column(field)} = %s" for field in fields)


def _about(model: type[Model]) -> Options[Any]:
    return model._meta  # noqa: SLF001  Django documents it


def _table(model: type[Model]) -> str:
    return connection.ops.quote_name(_about(model).db_table)


def _column(field: _Field) -> str:
    return connection.ops.quote_name(str(field.column))

"""Tables of a backup: which rows and columns it holds, how they are read and written.

Every table of the store is in a backup unless ``EXCLUDED_MODELS`` names it. Values are texts and
numbers that both SQLite and PostgreSQL accept, so rows of one can be restored into the other:
instants are in UTC and in Django's form for SQLite, JSON is text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from django.apps import apps
from django.core.management.color import no_style
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from jpweb.store.backups.archive import BackupTable
from jpweb.store.errors import InvalidBackup
from jpweb.store.models import (
    AnswerLink,
    ApprovalClaim,
    Conversation,
    Heartbeat,
    Inquiry,
    Invitation,
    MirrorPass,
    Passage,
    Person,
    Presence,
    PushDelivery,
    PushSubscription,
    QuestionClaim,
    SignIn,
    SignInLink,
    TaskLease,
    Workspace,
)

#: Models whose rows are in no backup, with the reason. Tables of procrastinate and Django are not
#: the store's, so they are in no backup either.
EXCLUDED_MODELS: Mapping[type[models.Model], str] = {
    Invitation: "one-time links; owners invite again",
    SignIn: "sessions: everybody signs in again",
    SignInLink: "one-time links; “sign_in_link” makes new ones",
    AnswerLink: "one-time links",
    Presence: "pages that are open",
    PushSubscription: "browsers that are signed in",
    QuestionClaim: "lapse within minutes",
    ApprovalClaim: "lapse within minutes",
    MirrorPass: "passes that run",
    TaskLease: "processes that run",
    Heartbeat: "processes that run",
    Passage: "derived from the journal by the search index",
}
#: Values that replace those of columns in a backup: secrets, and state of processes and the index.
REPLACED_COLUMNS: Mapping[type[models.Model], Mapping[str, Any]] = {
    Person: {"password": ""},
    Workspace: {"has_silo": False},  # the user whose backup is restored may have none
    PushDelivery: {"subscription_id": None},  # subscriptions are in no backup
    Inquiry: {"waiter": "", "seal_key": ""},  # the key of a process that waits for a secret
    Conversation: {"needs_indexing": True, "indexed_entry_count": 0, "indexed_revision": 0},
}
#: Begin of the names of the tables of which SQLite's search index consists.
_INDEX_PREFIX = "store_passage_words"
#: Rows of one SELECT or one ``executemany``.
_BATCH_ROWS = 200


def list_models() -> list[type[models.Model]]:
    """Return the models whose rows are in a backup."""
    return [
        model for model in apps.get_app_config("store").get_models() if model not in EXCLUDED_MODELS
    ]


def describe_table(model: type[models.Model]) -> BackupTable:
    """Return the name and the columns of a model's table in a backup."""
    meta = model._meta  # noqa: SLF001  Django's documented API
    columns = [field.column for field in meta.local_concrete_fields if field.column]
    return BackupTable(meta.db_table, columns)


def count_rows(connection: BaseDatabaseWrapper) -> int:
    """Return how many rows a backup of this database has."""
    names = [describe_table(model).name for model in list_models()]
    with connection.cursor() as cursor:
        return sum(_count_table(cursor, connection.ops.quote_name(name)) for name in names)


def has_rows(connection: BaseDatabaseWrapper) -> bool:
    """Tell whether a table of the store has a row, whatever migrations were applied.

    Tables inside the search index of SQLite have some from the beginning.
    """
    with connection.cursor() as cursor:
        for name in connection.introspection.table_names(cursor):
            if name.startswith("store_") and not name.startswith(_INDEX_PREFIX):
                cursor.execute(f"SELECT 1 FROM {connection.ops.quote_name(name)} LIMIT 1")  # noqa: S608  a name of the database itself
                if cursor.fetchone() is not None:
                    return True
    return False


def read_rows(connection: BaseDatabaseWrapper, model: type[models.Model]) -> Iterator[list[Any]]:
    """Yield the rows of a model's table in the order of their keys, as a backup holds them."""
    table = describe_table(model)
    replacements = REPLACED_COLUMNS.get(model, {})
    indexed_values = [
        (table.columns.index(column), value) for column, value in replacements.items()
    ]
    quote = connection.ops.quote_name
    columns = ", ".join(map(quote, ["id", *table.columns]))
    statement = (
        f"SELECT {columns} FROM {quote(table.name)} WHERE id > %s ORDER BY id LIMIT {_BATCH_ROWS}"  # noqa: S608  our own names
    )
    last_key = -1
    with connection.cursor() as cursor:
        while True:
            cursor.execute(statement, [last_key])
            rows = cursor.fetchall()
            for key, *row in rows:
                for index, value in indexed_values:
                    row[index] = value
                yield [_encode_value(value) for value in row]
                last_key = key
            if len(rows) < _BATCH_ROWS:
                return


def write_rows(
    connection: BaseDatabaseWrapper,
    table: BackupTable,
    rows: Iterable[list[Any]],
    progress: Callable[[int], None],
) -> None:
    """Insert the rows of a table; ``progress`` gets the number of each batch.

    Raises InvalidBackup where the database has no such table or columns.
    """
    _check_names(connection, table)
    quote = connection.ops.quote_name
    columns = ", ".join(map(quote, table.columns))
    marks = ", ".join(["%s"] * len(table.columns))
    statement = f"INSERT INTO {quote(table.name)} ({columns}) VALUES ({marks})"  # noqa: S608  names of the database itself
    remaining_rows = iter(rows)
    with connection.cursor() as cursor:
        while batch := list(islice(remaining_rows, _BATCH_ROWS)):
            cursor.executemany(statement, batch)
            progress(len(batch))


def delete_rows(connection: BaseDatabaseWrapper) -> None:
    """Delete all rows of the store, and all sessions. Foreign keys are checked at the commit."""
    store = apps.get_app_config("store").get_models(include_auto_created=True)
    names = [model._meta.db_table for model in store]  # noqa: SLF001  Django's documented API
    with connection.cursor() as cursor:
        for name in (*names, "django_session"):
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(name)}")  # noqa: S608  our own names


def reset_sequences(connection: BaseDatabaseWrapper) -> None:
    """Set the sequence of each table behind its largest key."""
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), list_models()):
            cursor.execute(statement)


def _count_table(cursor: Any, table: str) -> int:
    cursor.execute(f"SELECT count(*) FROM {table}")  # noqa: S608  our own names
    ((rows,),) = cursor.fetchall()
    return int(rows)


def _encode_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return str(value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value)
    return value


def _check_names(connection: BaseDatabaseWrapper, table: BackupTable) -> None:
    with connection.cursor() as cursor:
        table_names = connection.introspection.table_names(cursor)
        if table.name in table_names:
            table_columns = connection.introspection.get_table_description(cursor, table.name)
            if {column.name for column in table_columns}.issuperset(table.columns):
                return
    raise InvalidBackup(f"The backup is damaged: {table.name} or one of its columns is unknown.")

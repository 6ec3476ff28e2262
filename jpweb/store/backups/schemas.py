"""The migrations of the store: which of them a database or a backup stands at."""

from __future__ import annotations

from functools import cache

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

_APP_LABEL = "store"


@cache
def list_migrations() -> list[str]:
    """Return the names of the store's migrations, in the order in which they are applied."""
    graph = MigrationLoader(None).graph
    (leaf,) = graph.leaf_nodes(_APP_LABEL)
    return [name for app, name in graph.forwards_plan(leaf) if app == _APP_LABEL]


def get_newest_migration() -> str:
    """Return the migration that this jpweb works with."""
    return list_migrations()[-1]


def read_migrations(connection: BaseDatabaseWrapper) -> set[str]:
    """Return the names of the store's migrations that a database has."""
    applied = MigrationRecorder(connection).applied_migrations()
    return {name for app, name in applied if app == _APP_LABEL}

"""Migrations of the store: those of this jpweb, and those applied to a database."""

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
    """Return the name of the newest migration of this jpweb."""
    return list_migrations()[-1]


def read_migrations(connection: BaseDatabaseWrapper) -> set[str]:
    """Return the names of the store's migrations that are applied to a database."""
    applied_migrations = MigrationRecorder(connection).applied_migrations()
    return {name for app, name in applied_migrations if app == _APP_LABEL}

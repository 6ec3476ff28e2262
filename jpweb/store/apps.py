"""The store as a Django app."""

from __future__ import annotations

from django.apps import AppConfig

from jpweb.store.database import clock


class StoreConfig(AppConfig):
    """Holds the tables."""

    name = "jpweb.store"
    label = "store"

    def ready(self) -> None:
        """Let every process read the database's clock."""
        clock.watch_connections()

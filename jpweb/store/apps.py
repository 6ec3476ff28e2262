"""The store as a Django app."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.backends.signals import connection_created


class StoreConfig(AppConfig):
    """Holds the tables."""

    name = "jpweb.store"
    label = "store"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Give every SQLite connection its settings."""
        from jpweb.store.connections import tune

        connection_created.connect(tune)

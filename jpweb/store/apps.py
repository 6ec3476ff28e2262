"""The store as a Django app."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.backends.signals import connection_created

from jpweb.store.database import clock


class StoreConfig(AppConfig):
    """App config of the store's models."""

    name = "jpweb.store"
    label = "store"

    def ready(self) -> None:
        """Measure the offset of the database's clock in every process."""
        connection_created.connect(clock.measure_on_connect, dispatch_uid="jpweb-clock")

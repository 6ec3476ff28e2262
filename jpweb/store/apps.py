"""The store as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class StoreConfig(AppConfig):
    """Holds the tables."""

    name = "jpweb.store"
    label = "store"

"""The pages as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class WebConfig(AppConfig):
    """Holds the pages, the sockets and the template tags."""

    name = "jpweb.web"
    label = "web"

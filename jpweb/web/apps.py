"""The pages as a Django app."""

from __future__ import annotations

from django.apps import AppConfig
from django.core.checks import register


class WebConfig(AppConfig):
    """Holds the pages, the sockets and the template tags."""

    name = "jpweb.web"
    label = "web"

    def ready(self) -> None:
        """Register the checks."""
        from jpweb.web.checks import provider_is_known  # noqa: PLC0415  needs the apps

        register(provider_is_known)

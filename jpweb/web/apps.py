"""Django app of the pages."""

from __future__ import annotations

from django.apps import AppConfig
from django.core.checks import register


class WebConfig(AppConfig):
    """Configuration of the app that holds views, consumers and template tags."""

    name = "jpweb.web"
    label = "web"

    def ready(self) -> None:
        """Register the system checks."""
        from jpweb.web import checks  # noqa: PLC0415  needs the apps

        register(checks.check_provider)
        register(checks.check_head_address)
        register(checks.check_secret_key)
        register(checks.check_variables)

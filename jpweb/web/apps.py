"""Django app of the pages."""

from __future__ import annotations

from django.apps import AppConfig
from django.core.checks import register

from jpweb import text_settings


class WebConfig(AppConfig):
    """Configuration of the app that holds views, consumers and template tags."""

    name = "jpweb.web"
    label = "web"

    def ready(self) -> None:
        """Register the system checks."""
        from jpweb.web import checks  # noqa: PLC0415  needs the apps

        for check in checks.SETTINGS_CHECKS:
            register(check, text_settings.CHECK_TAG)

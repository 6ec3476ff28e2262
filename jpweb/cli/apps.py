"""The command line as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class CliConfig(AppConfig):
    """Holds the management commands."""

    name = "jpweb.cli"
    label = "cli"

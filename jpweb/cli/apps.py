"""Django app of the command line."""

from __future__ import annotations

import logging

from django.apps import AppConfig
from django.conf import settings

logger = logging.getLogger(__name__)


class CliConfig(AppConfig):
    """Holds the management commands."""

    name = "jpweb.cli"
    label = "cli"

    def ready(self) -> None:
        """Log which entries of the data folder were open to other users of the machine."""
        if closed_paths := settings.CLOSED_PATHS:
            logger.warning(
                "In %s, %d files and folders were open to other users of this machine. They are "
                "closed now: %s",
                settings.DATA_DIR,
                len(closed_paths),
                ", ".join(closed_paths[:5]) + (", …" if len(closed_paths) > 5 else ""),  # noqa: PLR2004  some
            )

"""The command line as a Django app."""

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
        """Tell what in the data folder was open to other users of the machine."""
        if mended := settings.DATA_MENDED:
            logger.warning(
                "In %s, %d files and folders were open to other users of this machine. They are "
                "closed now: %s",
                settings.DATA_DIR,
                len(mended),
                ", ".join(mended[:5]) + (", …" if len(mended) > 5 else ""),  # noqa: PLR2004  some
            )

"""From settings to what a turn needs."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from django.conf import settings

from jpweb.agent.providers import PROVIDERS
from jpweb.agent.providers.scripted import Scripted

if TYPE_CHECKING:
    from jpweb.agent.ports import Provider


def provider() -> Provider:
    """Return the provider that plays turns here."""
    if settings.PROVIDER == Scripted.NAME:
        return Scripted(pace=settings.SCRIPT_PACE)
    return PROVIDERS[settings.PROVIDER]()


def providers() -> list[str]:
    """Return the names that a provider can be chosen by."""
    return sorted(PROVIDERS)


def provider_name() -> str:
    """Return its name, for people and for the run's row."""
    return str(settings.PROVIDER)


def holder() -> str:
    """Return the name under which this installation executes runs."""
    return f"{socket.gethostname()}:{settings.DATA_DIR}"[:100]

"""Mistakes in the settings, told at the start and not at first use."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error

from jpweb.runtime import wiring


def provider_is_known(**_: Any) -> list[CheckMessage]:
    """Refuse a provider that nobody wrote."""
    known = wiring.providers()
    if settings.PROVIDER in known:
        return []
    return [
        Error(
            f"JPWEB_MODEL begins with “{settings.PROVIDER}”, which is no provider.",
            hint=f"Write provider/model; providers are: {', '.join(known)}.",
            id="jpweb.E001",
        )
    ]

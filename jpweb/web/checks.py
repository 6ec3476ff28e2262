"""System checks: errors in the settings, found at start."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error

from jpweb.runtime import wiring


def check_provider(**_: Any) -> list[CheckMessage]:
    """Return an error where JPWEB_MODEL names an unknown provider."""
    providers = wiring.list_providers()
    if settings.PROVIDER in providers:
        return []
    return [
        Error(
            f"JPWEB_MODEL begins with “{settings.PROVIDER}”, which is no provider.",
            hint=f"Write provider/model; providers are: {', '.join(providers)}.",
            id="jpweb.E001",
        )
    ]

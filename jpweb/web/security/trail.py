"""The security log: one line an event, with its person and address; never a token or a secret."""

from __future__ import annotations

import json
import logging
from typing import Any

from django.conf import settings
from django.http import HttpRequest

logger = logging.getLogger("jpweb.security")


def record(event: str, request: HttpRequest | None = None, **facts: object) -> None:
    """Log an event. Values are JSON, so that no name breaks a line or imitates another."""
    known: dict[str, object] = {}
    if request is not None:
        known["from"] = find_client_address(request)
        user = getattr(request, "user", None)
        if user is not None and user.is_authenticated:
            known |= {"person": user.pk, "account": user.username}
    told = " ".join(f"{name}={json.dumps(value)}" for name, value in (known | facts).items())
    logger.info("%s %s", event, told)


def find_client_address(request: HttpRequest) -> str:
    """Return the address of the browser; behind a trusted proxy, the one that the proxy names."""
    meta: dict[str, Any] = request.META
    named = str(meta.get("HTTP_X_FORWARDED_FOR", "")).rpartition(",")[2].strip()
    if named and settings.SECURE_PROXY_SSL_HEADER is not None:
        return named[:50]
    return str(meta.get("REMOTE_ADDR", ""))

"""The security log: one line per event, with person and address; never a token or a secret."""

from __future__ import annotations

import json
import logging
from typing import Any

from django.conf import settings
from django.http import HttpRequest

logger = logging.getLogger("jpweb.security")


def log_event(event: str, request: HttpRequest | None = None, **extra_fields: object) -> None:
    """Log an event. Values are JSON, so that no name breaks a line or imitates another."""
    fields: dict[str, object] = {}
    if request is not None:
        fields["from"] = find_client_address(request)
        user = getattr(request, "user", None)
        if user is not None and user.is_authenticated:
            fields |= {"person": user.pk, "account": user.username}
    text = " ".join(
        f"{name}={json.dumps(value)}" for name, value in (fields | extra_fields).items()
    )
    logger.info("%s %s", event, text)


def find_client_address(request: HttpRequest) -> str:
    """Return the address of the browser; behind a trusted proxy, the one that the proxy names."""
    meta: dict[str, Any] = request.META
    forwarded_for = str(meta.get("HTTP_X_FORWARDED_FOR", "")).rpartition(",")[2].strip()
    if forwarded_for and settings.SECURE_PROXY_SSL_HEADER is not None:
        return forwarded_for[:50]
    return str(meta.get("REMOTE_ADDR", ""))

"""The websocket routes."""

from __future__ import annotations

from typing import Any

from django.urls import path

from jpweb.web.consumers import PageConsumer

routes: list[Any] = [
    path("ws", PageConsumer.as_asgi())  # type: ignore[arg-type]  # the stub of path() knows views only
]

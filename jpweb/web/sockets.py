"""The websocket routes."""

from __future__ import annotations

from django.urls import path

from jpweb.web.consumers import PageConsumer

routes = [path("ws", PageConsumer.as_asgi())]

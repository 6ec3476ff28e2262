"""WebSocket routes, and the middleware that checks a socket's origin and its session."""

from __future__ import annotations

from typing import Any

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from django.urls import path, re_path

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import accounts
from jpweb.web.security import rate_limits
from jpweb.web.websocket.consumers import PageConsumer

routes: list[Any] = [
    path("ws", PageConsumer.as_asgi()),  # type: ignore[arg-type]  # the stub of path() knows views only
    # Without a route Channels raises an error, which daphne logs with its traceback.
    re_path("", WebsocketDenier.as_asgi()),  # type: ignore[arg-type]  # as above
]


class SameOriginMiddleware:
    """Refuses sockets of other origins, including other ports of the same host.

    A socket carries answers, so Django's CSRF rule for forms applies: browsers send the page's
    origin in ``Origin``, which no page can forge.
    """

    def __init__(self, application: Any) -> None:
        self._application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        application: Any = self._application if _is_same_origin(scope) else WebsocketDenier()
        await application(scope, receive, send)


class SessionAuthMiddleware:
    """Adds ``user`` (a person, or None) and ``session`` (its key) to the scope.

    Sockets change no session, so none is loaded with them.
    """

    def __init__(self, application: Any) -> None:
        self._application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        key = scope["cookies"].get(settings.SESSION_COOKIE_NAME)
        person = await run_in_db_thread(accounts.get_signed_in_person, key)
        if person is not None and rate_limits.SOCKET_LIMIT.admit_event(person.pk):
            await WebsocketDenier()(scope, receive, send)
            return
        auth_scope = {"user": person, "session": None if person is None else key}
        await self._application(scope | auth_scope, receive, send)


def _is_same_origin(scope: Any) -> bool:
    request = HttpRequest()
    for name, value in scope["headers"]:
        request.META[f"HTTP_{name.decode('latin1').upper().replace('-', '_')}"] = value.decode(
            "latin1"
        )
    origin = request.META.get("HTTP_ORIGIN")
    if origin is None or "HTTP_HOST" not in request.META:
        return False
    try:
        server_origin = f"{request.scheme}://{request.get_host()}"
    except DisallowedHost:
        return False
    return origin == server_origin or origin in settings.CSRF_TRUSTED_ORIGINS

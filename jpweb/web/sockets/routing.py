"""The websocket routes, whose pages may open one, and who has opened it."""

from __future__ import annotations

from typing import Any

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from django.urls import path

from jpweb.runtime.crossing import in_store
from jpweb.store import accounts
from jpweb.web.security import limits
from jpweb.web.sockets.consumers import PageConsumer

routes: list[Any] = [
    path("ws", PageConsumer.as_asgi())  # type: ignore[arg-type]  # the stub of path() knows views only
]


class OwnPages:
    """Refuses sockets that pages of another site open, another port of this machine included.

    A socket carries answers, so the rule is the one that Django has for forms: a browser says in
    ``Origin`` whose page it is, and no page can say otherwise.
    """

    def __init__(self, application: Any) -> None:
        self._application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        chosen: Any = self._application if _is_own(scope) else WebsocketDenier()
        await chosen(scope, receive, send)


class SignedIn:
    """Says in the scope whose page it is (``user``, or None) and by which sign-in (``session``).

    Sockets change no session, so none is kept with them.
    """

    def __init__(self, application: Any) -> None:
        self._application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        key = scope["cookies"].get(settings.SESSION_COOKIE_NAME)
        person = await in_store(accounts.signed_in, key)
        if person is not None and limits.SOCKETS.admit(person.pk):
            await WebsocketDenier()(scope, receive, send)
            return
        known = {"user": person, "session": None if person is None else key}
        await self._application(scope | known, receive, send)


def _is_own(scope: Any) -> bool:
    asking = HttpRequest()
    for name, value in scope["headers"]:
        asking.META[f"HTTP_{name.decode('latin1').upper().replace('-', '_')}"] = value.decode(
            "latin1"
        )
    origin = asking.META.get("HTTP_ORIGIN")
    if origin is None or "HTTP_HOST" not in asking.META:
        return False
    try:
        here = f"{asking.scheme}://{asking.get_host()}"
    except DisallowedHost:
        return False
    return origin == here or origin in settings.CSRF_TRUSTED_ORIGINS

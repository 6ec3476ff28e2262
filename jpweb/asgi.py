"""The ASGI application: pages over HTTP, live updates over WebSockets."""

from __future__ import annotations

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jpweb.settings")
django.setup()

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402  needs Django set up
from channels.sessions import CookieMiddleware  # noqa: E402  needs Django set up

from jpweb.cli.request_handler import RequestHandler  # noqa: E402  as above
from jpweb.web.websocket.routing import SameOriginMiddleware, SessionAuthMiddleware, routes  # noqa: E402  as above

http_application = RequestHandler()
application = ProtocolTypeRouter(
    {
        "http": http_application,
        "websocket": SameOriginMiddleware(
            CookieMiddleware(SessionAuthMiddleware(URLRouter(routes)))
        ),
    }
)

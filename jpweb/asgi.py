"""The ASGI application: pages over HTTP, live updates over WebSockets."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jpweb.settings")
http_application = get_asgi_application()  # sets Django up before models are imported

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402  needs Django set up
from channels.sessions import CookieMiddleware  # noqa: E402  needs Django set up

from jpweb.web.websocket.routing import SameOriginMiddleware, SessionAuthMiddleware, routes  # noqa: E402  needs Django set up

application = ProtocolTypeRouter(
    {
        "http": http_application,
        "websocket": SameOriginMiddleware(
            CookieMiddleware(SessionAuthMiddleware(URLRouter(routes)))
        ),
    }
)

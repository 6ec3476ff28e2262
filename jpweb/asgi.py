"""The ASGI application: pages over HTTP, changes over a websocket."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jpweb.settings")
pages = get_asgi_application()  # before anything that imports models

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402  needs Django set up
from channels.sessions import CookieMiddleware  # noqa: E402  needs Django set up

from jpweb.web.sockets.routing import OwnPages, SignedIn, routes  # noqa: E402  needs Django set up

application = ProtocolTypeRouter(
    {
        "http": pages,
        "websocket": OwnPages(CookieMiddleware(SignedIn(URLRouter(routes)))),
    }
)

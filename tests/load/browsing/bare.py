"""``python -m tests.load.browsing.bare PORT``: jpweb on a real daphne, beside a bare Django view.

``POST /bare?page=NAME`` keeps its body, ``GET /bare?page=NAME`` sends it: through the middleware of
jpweb, without a person, queries and templates.
"""

from __future__ import annotations

import sys

import django

django.setup()

from django.http import HttpRequest, HttpResponse  # noqa: E402  needs Django set up
from django.urls import path  # noqa: E402  as above
from django.views.decorators.csrf import csrf_exempt  # noqa: E402  as above

from jpweb import urls  # noqa: E402  as above
from jpweb.asgi import application  # noqa: E402  as above
from jpweb.cli.daphne_server import exit_process, run_server  # noqa: E402  as above

_bodies: dict[str, bytes] = {}


@csrf_exempt
def send_body(request: HttpRequest) -> HttpResponse:
    """Send the bytes of a page; synchronous, as jpweb's own views of pages are."""
    page = request.GET["page"]
    if request.method == "POST":
        _bodies[page] = request.body
    return HttpResponse(_bodies[page])


urls.urlpatterns.append(path("bare", send_body))


async def _end_nothing() -> None:
    """End nothing: the server has started nothing beside requests."""


if __name__ == "__main__":
    run_server(application, int(sys.argv[1]), lambda: print("ready", flush=True), [], _end_nothing)
    exit_process()

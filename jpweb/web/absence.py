"""What people are told while the database is away."""

from __future__ import annotations

import logging

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.deprecation import MiddlewareMixin

from jpweb.store.outage import DATABASE_ERROR, find_outage

logger = logging.getLogger(__name__)

#: Seconds after which a browser may try again.
AGAIN = 5


class Absence(MiddlewareMixin):
    """Answers 503 where a page needs the database and it cannot do its work, and says why."""

    def process_exception(self, request: HttpRequest, problem: Exception) -> HttpResponse | None:
        """Answer in the place of a view."""
        outage = find_outage(problem) if isinstance(problem, DATABASE_ERROR) else None
        if outage is None:
            return None
        logger.warning("%s cannot be served. %s: %s", request.path, outage.title, problem)
        # Without the request: who is signed in stands in the database too.
        sent = request.method not in ("GET", "HEAD")
        text = render_to_string("503.html", {"outage": outage, "sent": sent})
        return HttpResponse(text, status=503, headers={"Retry-After": str(AGAIN)})

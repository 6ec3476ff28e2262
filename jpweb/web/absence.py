"""What people are told while the database is away."""

from __future__ import annotations

import logging

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.deprecation import MiddlewareMixin

from jpweb.store.outage import DATABASE_GONE

logger = logging.getLogger(__name__)

#: Seconds after which a browser may try again.
AGAIN = 5


class Absence(MiddlewareMixin):
    """Answers 503 where a page needs the database and it cannot be reached."""

    def process_exception(self, request: HttpRequest, problem: Exception) -> HttpResponse | None:
        """Answer in the place of a view."""
        if not isinstance(problem, DATABASE_GONE):
            return None
        logger.warning("%s cannot be served: %s", request.path, problem)
        # Without the request: who is signed in stands in the database too.
        text = render_to_string("503.html")
        return HttpResponse(text, status=503, headers={"Retry-After": str(AGAIN)})

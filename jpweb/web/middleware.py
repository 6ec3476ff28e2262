"""Middleware for requests that need the database while it is unavailable."""

from __future__ import annotations

import logging

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.deprecation import MiddlewareMixin

from jpweb.store.database.availability import DATABASE_ERROR, find_outage

logger = logging.getLogger(__name__)

#: Value of the header Retry-After.
RETRY_AFTER_SECONDS = 5


class DatabaseOutageMiddleware(MiddlewareMixin):
    """Answer 503 with the cause and Retry-After where a view fails on a database outage."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Return the 503 page for a database outage; None for any other error."""
        outage = find_outage(error) if isinstance(error, DATABASE_ERROR) else None
        if outage is None:
            return None
        logger.warning("%s cannot be served. %s: %s", request.path, outage.title, error)
        # Rendered without the request, whose context processors query the person in the database.
        is_submission = request.method not in ("GET", "HEAD")
        html = render_to_string("503.html", {"outage": outage, "is_submission": is_submission})
        return HttpResponse(html, status=503, headers={"Retry-After": str(RETRY_AFTER_SECONDS)})

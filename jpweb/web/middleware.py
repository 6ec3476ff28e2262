"""Middleware for requests that need the database while it is unavailable."""

from __future__ import annotations

import logging
from functools import partial

from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.deprecation import MiddlewareMixin

from jpweb.store.database.availability import DATABASE_ERROR, Outage, find_outage
from jpweb.store.database.timeouts import change_briefly
from jpweb.web import access

logger = logging.getLogger(__name__)

#: Value of the header Retry-After.
RETRY_AFTER_SECONDS = 5
_READ_METHODS = frozenset({"GET", "HEAD"})


class SessionOutageMiddleware(SessionMiddleware):
    """Sessions of requests, some of which go on where their session cannot be saved.

    A page that reads changes only notices in its session, and shows them again next time. What
    may sign in, or was sent, is answered with 503: the view's own changes are saved by then.
    """

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Save the session as Django does, briefly for a page; answer an outage with 503."""
        save_session = partial(super().process_response, request, response)
        if request.session.modified and _is_read_only(request):
            change_briefly(save_session)
            return response
        try:
            return save_session()
        except DATABASE_ERROR as error:
            if (outage := find_outage(error)) is None:
                raise
            return _make_outage_response(request, outage, error, may_be_saved=True)


class DatabaseOutageMiddleware(MiddlewareMixin):
    """Answer 503 with the cause and Retry-After where a view fails on a database outage."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Return the 503 page for a database outage; None for any other error."""
        outage = find_outage(error) if isinstance(error, DATABASE_ERROR) else None
        if outage is None:
            return None
        return _make_outage_response(request, outage, error)


def _is_read_only(request: HttpRequest) -> bool:
    """Tell whether a request is for a page of a person who is signed in already."""
    return request.method in _READ_METHODS and not access.is_public(request)


def _make_outage_response(
    request: HttpRequest, outage: Outage, error: Exception, *, may_be_saved: bool = False
) -> HttpResponse:
    """Return the 503 page; ``may_be_saved``: input may be saved, though the statement failed."""
    logger.warning("%s cannot be served. %s: %s", request.path, outage.title, error)
    # Rendered without the request, whose context processors query the person in the database.
    context = {
        "outage": outage,
        "is_submission": request.method not in _READ_METHODS,
        "may_be_saved": may_be_saved,
    }
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS), "Cache-Control": "private, no-store"}
    return HttpResponse(render_to_string("503.html", context), status=503, headers=headers)

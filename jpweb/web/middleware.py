"""Middleware for requests that no view can answer: in an outage, and of addresses of forms."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from inspect import iscoroutinefunction
from typing import Any

from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.decorators import sync_and_async_middleware
from django.utils.deprecation import MiddlewareMixin

from jpweb.store.database.availability import DATABASE_ERROR, Outage, find_outage
from jpweb.store.database.timeouts import change_briefly
from jpweb.web import access
from jpweb.web.labels import page_labels

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


@sync_and_async_middleware
def FormAddressPages(  # noqa: N802  a middleware's name
    get_response: Callable[[HttpRequest], Any],
) -> Callable[[HttpRequest], Any]:
    """Show a browser a page where it opens an address that takes only forms.

    Such an address stays in the bar after a form was refused, and a restored tab opens it. The page
    is made of the address alone, so it is the same for everybody, whether the row exists or not.
    """
    if iscoroutinefunction(get_response):

        async def middleware_async(request: HttpRequest) -> HttpResponse:
            return _explain_form_address(request, await get_response(request))

        return middleware_async
    return lambda request: _explain_form_address(request, get_response(request))


def _explain_form_address(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    is_refused = response.status_code == HTTPStatus.METHOD_NOT_ALLOWED and request.method == "GET"
    match = request.resolver_match
    if is_refused and match is not None and "text/html" in request.headers.get("Accept", ""):
        name, path = page_labels.find_form_page(request.path_info, match)
        # Rendered without the request: its context processors would tell who is signed in.
        context = {"label": page_labels.FORM_PAGE_LABELS[name], "path": path}
        response.content = render_to_string("405.html", context)
        response.headers["Content-Type"] = "text/html; charset=utf-8"
    return response


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

"""Cache headers of private pages, and the referrer policy of answer links.

Pages are ``no-store``. Windows of a conversation and parts of events carry an ETag: they are large
and reloaded often, so the browser may store them (``private``) and revalidates each time
(``no-cache``) under the person's session. ``Clear-Site-Data`` removes them when the session ends,
also where the next request that shows this is another person's sign-in.
Browsers honour it over https and on localhost only; elsewhere these pages are ``no-store`` too.

The address of an answer link is a permission, so its pages send no Referer, error pages included:
the log of a proxy would show it beside each style sheet.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.decorators import sync_and_async_middleware

#: Beginning of the paths of answer links, also of those that no route matches.
ANSWER_LINK_PREFIX = "/answer/"
#: Request attribute: the browser may hold pages of another sign-in.
_STALE_ATTRIBUTE = "has_stale_cache"
LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
#: CSRF tokens in a page: Django masks the cookie's secret differently in each response.
_CSRF_TOKEN_PATTERN = re.compile(
    rb'csrf(?:middlewaretoken" value|-token" content)="[A-Za-z0-9]{64}"'
)


@sync_and_async_middleware
def PrivatePages(  # noqa: N802  a middleware's name
    get_response: Callable[[HttpRequest], Any],
) -> Callable[[HttpRequest], Any]:
    """Set the cache headers that the module's docstring describes."""
    if iscoroutinefunction(get_response):

        async def middleware_async(request: HttpRequest) -> HttpResponse:
            return _make_private(request, await get_response(request))

        return middleware_async
    return lambda request: _make_private(request, get_response(request))


def add_etag(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Return a page with an ETag of its content, or 304 if the browser's ETag equals it.

    The CSRF cookie's secret is part of the ETag: Django refuses forms of a page from before a
    sign-in, which rotates it.
    """
    if request.method not in ("GET", "HEAD") or response.status_code != 200:  # noqa: PLR2004  OK
        return response
    secret = str(request.META.get("CSRF_COOKIE", "")).encode()
    digest = hashlib.blake2b(
        _CSRF_TOKEN_PATTERN.sub(b"", response.content), digest_size=16, key=secret[:64]
    )
    etag = f'"{digest.hexdigest()}"'
    response["ETag"] = etag
    patch_vary_headers(response, ("Cookie", "HX-Request"))
    return cast(HttpResponse, get_conditional_response(request, etag, None, response))


def clear_site_data(response: HttpResponse, *, storage: bool) -> None:
    """Make the browser delete cached pages, and with ``storage`` also drafts and choices."""
    response["Clear-Site-Data"] = '"cache", "storage"' if storage else '"cache"'


def mark_cache_stale(request: HttpRequest) -> None:
    """Have the response clear the browser's cache, which holds pages of another sign-in."""
    setattr(request, _STALE_ATTRIBUTE, True)


def has_session_cookie(request: HttpRequest) -> bool:
    """Tell whether a browser sends a session's cookie; the session may have ended."""
    return settings.SESSION_COOKIE_NAME in request.COOKIES


def _make_private(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    is_stale = getattr(request, _STALE_ATTRIBUTE, False) or _has_ended_session(request)
    if is_stale and "Clear-Site-Data" not in response:
        clear_site_data(response, storage=False)
    if request.path_info.startswith(ANSWER_LINK_PREFIX):
        response["Referrer-Policy"] = "no-referrer"
    if "Cache-Control" in response:
        return response
    if "ETag" in response and _can_clear_site_data(request):
        response["Cache-Control"] = "private, no-cache"
    else:
        response["Cache-Control"] = "private, no-store"
        del response["ETag"]
    return response


def _has_ended_session(request: HttpRequest) -> bool:
    """Tell whether a cookie's session turned out to have ended; Django then deletes the cookie.

    Reads no row: a session that nothing has asked for is not empty.
    """
    session = getattr(request, "session", None)
    return session is not None and has_session_cookie(request) and session.is_empty()


def _can_clear_site_data(request: HttpRequest) -> bool:
    host, _ = split_domain_port(request.get_host())
    return request.is_secure() or host in LOOPBACK_HOSTS

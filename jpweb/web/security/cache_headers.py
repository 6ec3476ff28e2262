"""What browsers and caches keep of private pages.

Pages are ``no-store``. Windows of a conversation and parts of events carry an ETag: they are large
and reloaded often, so the browser may keep them for itself (``private``) and asks each time
whether they are as they were (``no-cache``), under the person's own sign-in. ``Clear-Site-Data``
removes them when the sign-in ends. Browsers heed it over https and on this machine alone;
elsewhere these pages are ``no-store`` as well.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.utils.decorators import sync_and_async_middleware

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})


@sync_and_async_middleware
def PrivatePages(  # noqa: N802  a middleware's name
    get_response: Callable[[HttpRequest], Any],
) -> Callable[[HttpRequest], Any]:
    """Keep private pages out of caches, as the module says."""
    if iscoroutinefunction(get_response):

        async def middleware_async(request: HttpRequest) -> HttpResponse:
            return _make_private(request, await get_response(request))

        return middleware_async
    return lambda request: _make_private(request, get_response(request))


def clear_site_data(response: HttpResponse, *, storage: bool) -> None:
    """Let the browser remove cached pages, and with ``storage`` drafts and choices."""
    response["Clear-Site-Data"] = '"cache", "storage"' if storage else '"cache"'


def _make_private(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    if "Cache-Control" in response:
        return response
    if "ETag" in response and _honors_clear_site_data(request):
        response["Cache-Control"] = "private, no-cache"
    else:
        response["Cache-Control"] = "private, no-store"
        del response["ETag"]
    return response


def _honors_clear_site_data(request: HttpRequest) -> bool:
    host, _ = split_domain_port(request.get_host())
    return request.is_secure() or host in LOOPBACK_HOSTS

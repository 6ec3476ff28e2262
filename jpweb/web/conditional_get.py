"""Conditional GET of pages: an ETag of the content without its CSRF tokens."""

from __future__ import annotations

import hashlib
import re
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response, patch_vary_headers

#: CSRF tokens in a page: Django masks the cookie's secret differently in each response.
_CSRF_TOKEN_PATTERN = re.compile(
    rb'csrf(?:middlewaretoken" value|-token" content)="[A-Za-z0-9]{64}"'
)


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

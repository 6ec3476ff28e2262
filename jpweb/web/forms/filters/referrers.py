"""The list or table of this site from which a person came to a page, by the header Referer."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.urls import reverse

if TYPE_CHECKING:
    from jpweb.web.http import Request


def find_query(request: Request, route_name: str) -> str | None:
    """Return the query string of a page of this site from which a person came; None of others."""
    try:
        referrer = urlsplit(request.headers.get("Referer", ""))
    except ValueError:
        return None
    is_page = referrer.netloc == request.get_host() and referrer.path == reverse(route_name)
    return referrer.query if is_page else None

"""The sign-in page, which several views respond with, and the ways to sign in that it offers."""

from __future__ import annotations

import ipaddress

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.shortcuts import render


def render_page(request: HttpRequest, problem: str = "", status: int = 200) -> HttpResponse:
    """Return the page with the ways to sign in, and with what went wrong."""
    context = {
        "problem": problem,
        "providers": settings.OIDC_PROVIDERS.values(),
        "passkey_domain": find_passkey_domain(request),
    }
    return render(request, "auth/sign_in.html", context, status=status)


def find_passkey_domain(request: HttpRequest) -> str:
    """Return the domain that passkeys of this site belong to; empty where browsers make none.

    They want a name, no IP address, and https. Only on the same machine http is enough.
    """
    host, _ = split_domain_port(request.get_host())
    if not request.is_secure() and not f".{host}".endswith(".localhost"):
        return ""
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return host
    return ""

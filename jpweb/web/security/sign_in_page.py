"""The sign-in page, which several views respond with, and the ways to sign in that it offers."""

from __future__ import annotations

import ipaddress

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.shortcuts import render
from django.urls import reverse

from jpweb import installation
from jpweb.web import converters


def render_page(request: HttpRequest, problem: str = "", status: int = 200) -> HttpResponse:
    """Return the page with the ways to sign in, and with the problem."""
    context = {
        "problem": problem,
        "providers": settings.OIDC_PROVIDERS.values(),
        "passkey_domain": find_passkey_domain(request),
        "serve_command": installation.SERVE_COMMAND,
        "next_url": request.POST.get("next", request.GET.get("next", "")),
    }
    return render(request, "auth/sign_in.html", context, status=status)


def find_next_url(request: HttpRequest) -> str:
    """Return the page of this site, with its fragment, that a form says to open after sign-in.

    Home where it names none, or one of another site.
    """
    url, _, fragment = request.POST.get("next", "").partition("#")
    local_url = converters.parse_local_url(url)
    if not local_url:
        return reverse("home")
    return f"{local_url}#{fragment}" if fragment else local_url


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

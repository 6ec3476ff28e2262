"""The sign-in page, which several views respond with, and the names of providers on it."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def render_page(request: HttpRequest, problem: str = "", status: int = 200) -> HttpResponse:
    """Return the page with the ways to sign in, and with what went wrong."""
    context = {"problem": problem, "providers": settings.OIDC_PROVIDERS.values()}
    return render(request, "auth/sign_in.html", context, status=status)


def name_issuer(issuer: str) -> str:
    """Return what pages call the provider; its address where the settings no longer name it."""
    titles = {provider.url: provider.title for provider in settings.OIDC_PROVIDERS.values()}
    return titles.get(issuer, issuer)

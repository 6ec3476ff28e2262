"""Signing in and out, and the pages for those who may not go where they wanted."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from jpweb.runtime.crossing import in_store
from jpweb.runtime.signals import announce
from jpweb.store import accounts
from jpweb.store.errors import BadLink
from jpweb.web import access


@access.public
@never_cache
def help_page(request: HttpRequest) -> HttpResponse:
    return render(request, "signing/sign_in.html")


@access.public
@never_cache
async def sign_in(request: HttpRequest, token: str) -> HttpResponse:
    """Use a one-time link up; a look at its head alone does not.

    The sign-in that this browser had before is over, also on the pages that are open by it.
    """
    if request.method == "HEAD":
        return HttpResponse()
    response, ended = await in_store(_sign_in, request, token)
    if ended:
        await announce.signed_out(ended)
    return response


def _sign_in(request: HttpRequest, token: str) -> tuple[HttpResponse, str | None]:
    before = request.session.session_key
    try:
        person = accounts.use_link(token)
    except BadLink as problem:
        if request.user.is_authenticated:
            return redirect("start"), None
        context = {"problem": problem}
        return render(request, "signing/sign_in.html", context, status=403), None
    login(request, person, backend="django.contrib.auth.backends.ModelBackend")
    return redirect("start"), before


@access.public
@require_POST
async def sign_out(request: HttpRequest) -> HttpResponse:
    """Sign out here and on every page that is open by the same sign-in."""
    ended = await in_store(_sign_out, request)
    if ended:
        await announce.signed_out(ended)
    return redirect("sign-in")


def _sign_out(request: HttpRequest) -> str | None:
    ended = request.session.session_key
    logout(request)
    messages.success(request, "You are signed out.")
    return ended


@access.public
def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001  Django passes it
    """Say that there is nothing here, in the same words for what is missing and what is barred."""
    return render(request, "signing/not_found.html", status=404)


@access.public
def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001  as above
    return render(request, "signing/forbidden.html", status=403)

"""Signing in and out, and the pages for those who may not go where they wanted."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from jpweb.runtime.crossing import in_store
from jpweb.runtime.signals import announce
from jpweb.store import accounts
from jpweb.store.errors import BadLink
from jpweb.store.people.sessions import hash_key
from jpweb.web import access
from jpweb.web.security import limits, sign_ins, trail


@access.public
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters("code")
async def sign_in(request: HttpRequest) -> HttpResponse:
    """Show the form for the code of a link, or use the link up.

    A link is ``/sign-in#CODE``: opening it sends no code, so that prefetching and the scanning of
    mail use nothing up. The page sends the code by itself where scripts run. The sign-in that
    this browser had before is over, also on the pages that are open by it.
    """
    if request.method != "POST":
        return await in_store(render, request, "signing/sign_in.html")
    response, ended = await in_store(_sign_in, request)
    await announce.signed_out(ended)
    return response


@sensitive_variables("code")
def _sign_in(request: HttpRequest) -> tuple[HttpResponse, list[str]]:
    code = sign_ins.read_code(request.POST.get("code", ""))
    try:
        link = accounts.use_link(code)
    except BadLink as problem:
        trail.record("sign-in link refused", request)
        if request.user.is_authenticated:
            return redirect("start"), []
        address = trail.find_client_address(request)
        context = {"problem": problem}
        page = render(request, "signing/sign_in.html", context, status=403)
        return limits.refuse_link(address) or page, []
    return redirect("start"), sign_ins.begin(request, link.person, link.maker_id)


@access.public
@require_POST
async def sign_out(request: HttpRequest) -> HttpResponse:
    """Sign out here and on every page that is open by the same sign-in."""
    response, ended = await in_store(_sign_out, request)
    await announce.signed_out(ended)
    return response


def _sign_out(request: HttpRequest) -> tuple[HttpResponse, list[str]]:
    response, key = redirect("sign-in"), request.session.session_key
    sign_ins.end(request, response)
    messages.success(request, "Signed out.")
    return response, [hash_key(key)] if key else []


@access.public
def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001  Django passes it
    """Say that there is nothing here, in the same words for what is missing and what is barred."""
    return render(request, "signing/not_found.html", status=404)


@access.public
def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001  as above
    return render(request, "signing/forbidden.html", status=403)

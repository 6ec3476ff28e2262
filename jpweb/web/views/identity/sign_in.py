"""Sign-in and sign-out, and the pages for 404 and 403."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import Resolver404, resolve
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import accounts
from jpweb.store.errors import CodeRequired, InvalidLink
from jpweb.store.people.sessions import hash_key
from jpweb.web import access, notice_text
from jpweb.web.forms import unsent_text
from jpweb.web.forms.identity_forms import CodeForm
from jpweb.web.http import require_POST, take_form
from jpweb.web.security import (
    browser_sessions,
    cache_headers,
    rate_limits,
    sign_in_page,
)


@access.public
@never_cache
@take_form
@sensitive_post_parameters("code")
async def sign_in(request: HttpRequest) -> HttpResponse:
    """Show the form for a link's code, or use the link.

    A link is ``/sign-in#CODE``: opening it sends no code, so that prefetching and mail scanners do
    not use it up. The page's script submits the code. The browser's previous session ends, also on
    its open pages.
    """
    if request.method != "POST":
        return await run_in_db_thread(sign_in_page.render_page, request)
    response, ended_sessions = await run_in_db_thread(_use_sign_in_link, request)
    await publisher.publish_signed_out(ended_sessions)
    return response


@sensitive_variables("code")
def _use_sign_in_link(request: HttpRequest) -> tuple[HttpResponse, list[str]]:
    code = browser_sessions.read_code(CodeForm(request.POST).read_code())
    next_url = sign_in_page.find_next_url(request)
    try:
        link = accounts.use_link(code)
    except CodeRequired as error:
        browser_sessions.begin_code_entry(request, error.link_id, next_url)
        return redirect("sign-in-code"), []
    except InvalidLink as error:
        refusal = rate_limits.refuse_link(request, "sign-in link refused")
        if request.user.is_authenticated:
            return HttpResponseRedirect(next_url), []
        return refusal or sign_in_page.render_page(request, str(error), status=403), []
    ended_sessions = browser_sessions.begin_session(request, link.person, link.maker_id)
    return HttpResponseRedirect(next_url), ended_sessions


@access.public
@require_POST
async def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session and close the sockets of its open pages."""
    response, ended_sessions = await run_in_db_thread(_end_session, request)
    await publisher.publish_signed_out(ended_sessions)
    return response


def _end_session(request: HttpRequest) -> tuple[HttpResponse, list[str]]:
    """Sign out. For a stranger nothing is written: a message would begin a session, a row."""
    response, key = redirect("sign-in"), request.session.session_key
    if not request.user.is_authenticated:
        cache_headers.clear_site_data(response, storage=True)
        return response, []
    browser_sessions.end_session(request, response)
    messages.success(request, notice_text.SIGNED_OUT)
    return response, [hash_key(key)] if key else []


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001  Django passes it
    """Return the 404 page, in the same words for missing and for inaccessible rows.

    An address with a slash at its end leads to the page without it, where there is one.
    """
    path = request.path.rstrip("/")
    if path != request.path and request.method in ("GET", "HEAD") and _is_page(path):
        query = request.META.get("QUERY_STRING", "")
        return redirect(f"{path}?{query}" if query else path)
    context = {"unsent_text": unsent_text.find_draft(request)}
    return render(request, "auth/not_found.html", context, status=404)


def _is_page(path: str) -> bool:
    """Return whether a redirect may name ``path``: an answer link's code and files are left out."""
    if path.startswith("//"):
        return False
    try:
        match = resolve(path)
    except Resolver404:
        return False
    rule: str = match.func.access_rule  # type: ignore[attr-defined]  # set by access.py
    return not match.kwargs or rule != "public"


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001  as above
    context = {"unsent_text": unsent_text.find_draft(request)}
    return render(request, "auth/forbidden.html", context, status=403)

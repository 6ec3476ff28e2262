"""A person's own sign-ins, and the large download that they have under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from jpweb.runtime import downloads
from jpweb.runtime.crossing import in_store
from jpweb.runtime.signals import announce
from jpweb.store import accounts
from jpweb.store.errors import TooManyLinks
from jpweb.store.people import invitations, sessions
from jpweb.web import access
from jpweb.web.security import sign_ins, trail

if TYPE_CHECKING:
    from jpweb.web.http import Request


@access.signed_in
@never_cache
def index(request: Request) -> HttpResponse:
    return _page(request)


@access.signed_in
@never_cache
def download(request: Request) -> HttpResponse:
    """Show how far the person's large download is; to htmx that alone."""
    context = {"lease": downloads.find(request.user.pk), "follows": "follows" in request.GET}
    name = "_status" if request.htmx else "index"
    return render(request, f"downloads/{name}.html", context)


@require_POST
@access.signed_in
@never_cache
def new_link(request: Request) -> HttpResponse:
    """Show a one-time link with which the person signs in on another device, this once."""
    try:
        invitations.check_link_rate(request.user.pk)
    except TooManyLinks as problem:
        return _page(request, problem=str(problem))
    token = accounts.issue_link(request.user, maker=request.user)
    trail.record("sign-in link made", request, of=request.user.pk)
    return _page(request, link=sign_ins.make_link(request, "sign-in", token))


@require_POST
@access.signed_in
async def sign_out_everywhere(request: Request) -> HttpResponse:
    """End every sign-in of the person, this one too, and their unused links."""
    response = redirect("sign-in")
    ended = await in_store(_sign_out_everywhere, request, response)
    await announce.signed_out(ended)
    return response


def _sign_out_everywhere(request: Request, response: HttpResponse) -> list[str]:
    trail.record("sign-out everywhere", request)
    ended = accounts.end_sign_ins(request.user.pk)
    sign_ins.end(request, response)
    messages.success(request, "Signed out on all devices.")
    return ended


def _page(request: Request, *, link: str = "", problem: str = "") -> HttpResponse:
    context = {
        "sign_ins": sessions.list_open(request.user.pk, request.session.session_key),
        "link": link,
        "problem": problem,
    }
    return render(request, "account/index.html", context, status=422 if problem else 200)

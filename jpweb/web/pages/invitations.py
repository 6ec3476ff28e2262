"""The page behind the link of an invitation: who is invited joins by their own consent."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from jpweb.runtime.crossing import in_store
from jpweb.runtime.signals import announce
from jpweb.store.errors import BadLink, NameTaken
from jpweb.store.people import invitations
from jpweb.store.people.sessions import MAKER_KEY
from jpweb.web import access
from jpweb.web.security import limits, sign_ins, trail


@access.public
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters("code")
async def join(request: HttpRequest) -> HttpResponse:
    """Show the form for the code of an invitation, then what it offers; join where that is sent.

    A person who is signed in joins as themselves; anybody else as a new person.
    """
    if request.method != "POST":
        return await in_store(render, request, "signing/join.html")
    response, ended = await in_store(_look_or_join, request)
    await announce.signed_out(ended)
    return response


@sensitive_variables("code")
def _look_or_join(request: HttpRequest) -> tuple[HttpResponse, list[str]]:
    code = sign_ins.read_code(request.POST.get("code", ""))
    try:
        if request.POST.get("do") == "join":
            return _join(request, code)
        return _offer(request, code), []
    except BadLink as problem:
        trail.record("invitation refused", request)
        address = trail.find_client_address(request)
        page = render(request, "signing/join.html", {"problem": problem}, status=403)
        return limits.refuse_link(address) or page, []
    except NameTaken as problem:
        return _offer(request, code, str(problem)), []


def _offer(request: HttpRequest, code: str, problem: str = "") -> HttpResponse:
    context = {"invitation": invitations.find(code), "code": code, "problem": problem}
    return render(request, "signing/join.html", context, status=422 if problem else 200)


def _join(request: HttpRequest, code: str) -> tuple[HttpResponse, list[str]]:
    person = request.user if request.user.is_authenticated else None
    joined = invitations.take(code, person, request.session.session_key)
    ended = joined.ended
    if person is None:
        ended = sign_ins.begin(request, joined.person, None)
    else:
        # From here on this sign-in is the person's own, by whose link it may have begun.
        request.session[MAKER_KEY] = None
        messages.success(request, "Your other sign-ins have ended.")
    facts = {"workspace": joined.workspace.pk, "role": joined.role.label}
    trail.record("joined", request, **facts)
    messages.success(
        request, f"You joined {joined.workspace.name} as {joined.role.label.capitalize()}."
    )
    return redirect("start"), ended

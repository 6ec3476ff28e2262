"""Passkeys: adding and removing one's own, and signing in with one.

Each takes two requests: one for the challenge, as JSON, and a form with the authenticator's reply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store.errors import PasskeyRefused
from jpweb.store.people import passkeys
from jpweb.store.people.identities import Credential
from jpweb.store.people.sessions import MAKER_KEY, OWN_KEY
from jpweb.web import access, notice_text
from jpweb.web.forms.fields import RowKeyForm
from jpweb.web.forms.identity_forms import PasskeyForm
from jpweb.web.http import require_POST
from jpweb.web.security import (
    browser_names,
    browser_sessions,
    rate_limits,
    security_log,
    sign_in_page,
)

if TYPE_CHECKING:
    from jpweb.web.http import Request


@require_POST
@access.signed_in
@never_cache
def begin_adding(request: Request) -> HttpResponse:
    """Respond with the options to make a passkey."""
    from jpweb.web.security import webauthn  # noqa: PLC0415  loads fido2, 200 ms

    if not sign_in_page.find_passkey_domain(request):
        return JsonResponse({"problem": notice_text.PASSKEYS_UNAVAILABLE}, status=422)
    return JsonResponse(webauthn.begin_adding(request, request.user))


@require_POST
@access.signed_in
def add_passkey(request: Request) -> HttpResponse:
    """Add the passkey that an authenticator made."""
    from jpweb.web.security import webauthn  # noqa: PLC0415  as above

    name, reply = PasskeyForm(request.POST).read_values()
    name = name or browser_names.describe_browser(request.headers.get("User-Agent", ""))
    name = name or notice_text.PASSKEY_DEFAULT_NAME
    is_own, maker_id = bool(request.session.get(OWN_KEY)), request.session.get(MAKER_KEY)
    try:
        credential = webauthn.finish_adding(request, reply)
        passkey = passkeys.add_passkey(
            request.user, credential, name, is_own=is_own, maker_id=maker_id
        )
    except webauthn.InvalidReply:
        messages.error(request, notice_text.PASSKEY_NOT_ADDED)
    except PasskeyRefused as error:
        messages.error(request, str(error))
    else:
        browser_sessions.note_credential(request, Credential(passkey).key)
        security_log.log_event("passkey added", request, passkey=passkey.name)
        messages.success(request, notice_text.PASSKEY_ADDED.format(name=passkey.name))
    return redirect("account")


@require_POST
@access.signed_in
def remove_passkey(request: Request) -> HttpResponse:
    """Remove a passkey of the person; sign-ins go on."""
    key = RowKeyForm(request.POST, "passkey").read_key()
    name = passkeys.remove_passkey(request.user, key)
    if name is None:
        messages.error(request, notice_text.PASSKEY_MISSING)
    else:
        security_log.log_event("passkey removed", request, passkey=name)
        messages.success(request, notice_text.PASSKEY_REMOVED.format(name=name))
    return redirect("account")


@require_POST
@access.public
@never_cache
def begin_sign_in(request: HttpRequest) -> HttpResponse:
    """Respond with the options to sign in: the same for everybody."""
    from jpweb.web.security import webauthn  # noqa: PLC0415  as above

    key = rate_limits.make_address_key(request)
    if seconds := rate_limits.SIGN_ON_LIMIT.admit_event(key):
        problem = notice_text.TOO_MANY_SIGN_ONS.format(seconds=seconds)
        return JsonResponse({"problem": problem}, status=429)
    if not sign_in_page.find_passkey_domain(request):
        return JsonResponse({"problem": notice_text.PASSKEYS_UNAVAILABLE}, status=422)
    return JsonResponse(webauthn.begin_sign_in(request))


@require_POST
@access.public
@never_cache
async def sign_in(request: HttpRequest) -> HttpResponse:
    """Sign in with a passkey. The browser's previous session ends, also on its open pages."""
    response, ended_sessions = await run_in_db_thread(_sign_in, request)
    await publisher.publish_signed_out(ended_sessions)
    return response


def _sign_in(request: HttpRequest) -> tuple[HttpResponse, list[str]]:
    from jpweb.web.security import webauthn  # noqa: PLC0415  as above

    _, reply = PasskeyForm(request.POST).read_values()
    try:
        passkey, sign_count = webauthn.finish_sign_in(request, reply)
    except webauthn.InvalidReply as error:
        return _refuse(request, cause=str(error.__cause__ or error)), []
    if not passkeys.record_use(passkey, sign_count):
        return _refuse(request, cause="counter", passkey=passkey.pk, of=passkey.person_id), []
    ended_sessions = browser_sessions.begin_session(
        request,
        passkey.person,
        passkey.maker_id,
        passkey=passkey.name,
        is_own=passkey.is_own,
        credential=Credential(passkey).key,
    )
    return HttpResponseRedirect(sign_in_page.find_next_url(request)), ended_sessions


def _refuse(request: HttpRequest, **log_fields: object) -> HttpResponse:
    """Respond the same whether the passkey is unknown, of a deactivated person or not proven."""
    page = sign_in_page.render_page(request, notice_text.PASSKEY_REFUSED, status=403)
    return rate_limits.refuse_link(request, "passkey refused", **log_fields) or page

"""Single sign-on with OpenID Connect: signing in, and connecting an identity to an account.

A response leads to the provider by a page with a link that browsers follow, not by a redirect: the
Content-Security-Policy lets forms lead to this site alone (``form-action``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store.errors import IdentityTaken, NameTaken
from jpweb.store.people import identities, single_sign_on
from jpweb.store.people.identities import Credential
from jpweb.store.people.sessions import MAKER_KEY, OWN_KEY
from jpweb.web import access, notice_text
from jpweb.web.http import require_GET, require_POST
from jpweb.web.security import browser_sessions, rate_limits, security_log, sign_in_page

if TYPE_CHECKING:
    from jpweb.identity_providers import IdentityProvider
    from jpweb.store.people.identities import ProvenIdentity
    from jpweb.web.http import Request


@require_POST
@access.public
@never_cache
def start_sign_in(request: HttpRequest, provider_name: str) -> HttpResponse:
    """Lead to a provider that signs in."""
    return _lead_to_provider(request, _get_provider(provider_name), None)


@require_POST
@access.signed_in
@never_cache
def connect_identity(request: Request, provider_name: str) -> HttpResponse:
    """Lead to a provider whose identity is to be connected."""
    return _lead_to_provider(request, _get_provider(provider_name), request.user.pk)


@access.public
@never_cache
@require_GET
async def finish_sign_on(request: HttpRequest, provider_name: str) -> HttpResponse:
    """Sign in, or connect the identity, as this session asked for.

    The browser's previous session ends, also on its open pages.
    """
    provider = _get_provider(provider_name)
    response, ended_sessions = await run_in_db_thread(_finish_sign_on, request, provider)
    await publisher.publish_signed_out(ended_sessions)
    return response


@require_POST
@access.signed_in
def disconnect_identity(request: Request) -> HttpResponse:
    """Remove an identity of the person; sign-ins go on."""
    identity_id = request.POST.get("identity", "")
    rows = {str(row.pk): row for row in identities.list_identities(request.user.pk)}
    row = rows.get(identity_id)
    title = identities.name_issuer(row.issuer) if row else ""
    if row and identities.disconnect_identity(request.user, row.pk, title):
        security_log.log_event("identity disconnected", request, provider=title)
        messages.success(request, notice_text.IDENTITY_DISCONNECTED.format(provider=title))
    else:
        messages.error(request, notice_text.IDENTITY_MISSING)
    return redirect("account")


def _get_provider(name: str) -> IdentityProvider:
    try:
        provider: IdentityProvider = settings.OIDC_PROVIDERS[name]
    except KeyError:
        raise Http404 from None
    return provider


def _lead_to_provider(
    request: HttpRequest, provider: IdentityProvider, person_id: int | None
) -> HttpResponse:
    from jpweb.web.security import oidc_client  # noqa: PLC0415  loads requests, 90 ms

    if refusal := rate_limits.refuse_sign_on(request):
        return refusal
    try:
        next_url = sign_in_page.find_next_url(request)
        provider_address = oidc_client.make_address(request, provider, person_id, next_url)
    except oidc_client.SignOnFailed as error:
        return _refuse(request, provider, error)
    context = {"provider": provider, "address": provider_address}
    return render(request, "auth/continue.html", context)


@sensitive_variables()
def _finish_sign_on(
    request: HttpRequest, provider: IdentityProvider
) -> tuple[HttpResponse, list[str]]:
    from jpweb.web.security import oidc_client  # noqa: PLC0415  as above

    if refusal := rate_limits.refuse_sign_on(request):
        return refusal, []
    try:
        sign_on = oidc_client.verify_callback(request, provider)
    except oidc_client.SignOnFailed as error:
        return _refuse(request, provider, error), []
    if sign_on.person_id is None:
        return _sign_in(request, sign_on.identity, sign_on.next_url)
    if sign_on.person_id != request.user.pk:
        failure = oidc_client.SignOnFailed(notice_text.SIGN_ON_EXPIRED, provider)
        return _refuse(request, provider, failure), []
    return _connect(cast("Request", request), sign_on.identity), []


def _refuse(request: HttpRequest, provider: IdentityProvider, error: Exception) -> HttpResponse:
    """Say on the page where the person began why nobody was signed in."""
    cause = type(error.__cause__).__name__ if error.__cause__ else ""
    security_log.log_event("sign-on failed", request, provider=provider.title, cause=cause)
    if request.user.is_authenticated:
        messages.error(request, str(error))
        return redirect("account")
    return sign_in_page.render_page(request, str(error), getattr(error, "status", 403))


def _sign_in(
    request: HttpRequest, proven_identity: ProvenIdentity, next_url: str
) -> tuple[HttpResponse, list[str]]:
    try:
        identity = single_sign_on.admit_person(proven_identity)
    except NameTaken as error:
        return sign_in_page.render_page(request, str(error), status=403), []
    if identity is None:
        security_log.log_event("sign-on refused", request, provider=proven_identity.provider)
        return render(
            request, "auth/unknown_identity.html", {"identity": proven_identity}, status=403
        ), []
    ended_sessions = browser_sessions.begin_session(
        request,
        identity.person,
        identity.maker_id,
        provider=proven_identity.provider,
        is_own=identity.is_own,
        credential=Credential(identity).key,
    )
    return HttpResponseRedirect(next_url), ended_sessions


def _connect(request: Request, proven_identity: ProvenIdentity) -> HttpResponse:
    is_own, maker_id = bool(request.session.get(OWN_KEY)), request.session.get(MAKER_KEY)
    try:
        identity = identities.connect_identity(
            request.user, proven_identity, is_own=is_own, maker_id=maker_id
        )
    except IdentityTaken as error:
        messages.error(request, str(error))
    else:
        browser_sessions.note_credential(request, Credential(identity).key)
        security_log.log_event("identity connected", request, provider=proven_identity.provider)
        messages.success(
            request, notice_text.IDENTITY_CONNECTED.format(provider=proven_identity.provider)
        )
    return redirect("account")

"""Page of an invitation link, where the invited person accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store.errors import InvalidLink, NameTaken
from jpweb.store.people import identities, invitations, second_factors
from jpweb.store.people.identities import Credential, Removal
from jpweb.store.people.sessions import CREDENTIALS_KEY, MAKER_KEY, OWN_KEY
from jpweb.web import access, notice_text
from jpweb.web.forms.fields import RowKeyForm
from jpweb.web.forms.identity_forms import InvitationCodeForm
from jpweb.web.http import take_form
from jpweb.web.security import browser_sessions, rate_limits, security_log

if TYPE_CHECKING:
    from jpweb.store.models import Invitation, Person


@access.public
@never_cache
@take_form
@sensitive_post_parameters("code")
async def join_workspace(request: HttpRequest) -> HttpResponse:
    """Show the form for an invitation's code, then the invitation; join once that is submitted.

    A signed-in person joins with their account, others with a new one. An invitation of an address
    that the person has proven takes no code. A signed-in person may decline.
    """
    if request.method != "POST":
        return await run_in_db_thread(render, request, "auth/join.html")
    response, ended_sessions = await run_in_db_thread(_preview_or_join, request)
    await publisher.publish_signed_out(ended_sessions)
    return response


@sensitive_variables("code")
def _preview_or_join(request: HttpRequest) -> tuple[HttpResponse, list[str]]:
    form = InvitationCodeForm(request.POST)
    code = browser_sessions.read_code(form.read_code())
    try:
        invitation = _find_invitation(request, code)
        if form.is_acceptance:
            return _try_to_accept(request, invitation, code)
        if form.is_refusal and request.user.is_authenticated:
            return _decline_invitation(request, request.user, invitation), []
        return _render_offer(request, invitation, code), []
    except InvalidLink as error:
        page = render(request, "auth/join.html", {"problem": error}, status=403)
        return rate_limits.refuse_link(request, "invitation refused") or page, []


def _find_invitation(request: HttpRequest, code: str) -> Invitation:
    """Return the invitation of a code or of a proven address. Raises InvalidLink."""
    key = RowKeyForm(request.POST, "invitation").read_key()
    if key and not code and request.user.is_authenticated:
        emails = browser_sessions.list_proven_emails(request)
        return invitations.find_addressed(request.user, emails, key)
    return invitations.find_invitation(code)


def _render_offer(
    request: HttpRequest, invitation: Invitation, code: str, problem: str = ""
) -> HttpResponse:
    context = {"invitation": invitation, "code": code, "problem": problem}
    context["credentials"] = _list_credentials(request)
    if request.user.is_authenticated:
        context["unproven_factor"] = second_factors.find_unproven(request.user.pk)
    return render(request, "auth/join.html", context, status=422 if problem else 200)


def _list_credentials(request: HttpRequest) -> list[tuple[Credential, bool]]:
    """Return the person's passkeys and identities, each with whether it is to be kept.

    At first these are those used or added in this session.
    """
    if not request.user.is_authenticated:
        return []
    kept_keys = request.session.get(CREDENTIALS_KEY, [])
    form = InvitationCodeForm(request.POST)
    if form.is_acceptance:
        kept_keys = form.list_kept_keys()
    credentials = identities.list_credentials(request.user.pk)
    return [(credential, credential.key in kept_keys) for credential in credentials]


def _try_to_accept(
    request: HttpRequest, invitation: Invitation, code: str
) -> tuple[HttpResponse, list[str]]:
    try:
        return _accept_invitation(request, invitation)
    except NameTaken as error:
        return _render_offer(request, invitation, code, str(error)), []


def _accept_invitation(
    request: HttpRequest, invitation: Invitation
) -> tuple[HttpResponse, list[str]]:
    person = request.user if request.user.is_authenticated else None
    session_key, maker_id = request.session.session_key, request.session.get(MAKER_KEY)
    kept_keys = InvitationCodeForm(request.POST).list_kept_keys()
    acceptance = invitations.accept_invitation(invitation, person, session_key, maker_id, kept_keys)
    ended_sessions = acceptance.ended_session_hashes
    if person is None:
        ended_sessions = browser_sessions.begin_session(request, acceptance.person, None)
    elif acceptance.is_proven:
        messages.success(request, notice_text.OTHER_SIGN_INS_ENDED)
        _note_acceptance(request)
    else:
        messages.success(request, notice_text.UNPROVEN_SIGN_INS_ENDED)
    _tell_of_removal(request, acceptance.removal)
    log_fields = {"workspace": acceptance.workspace.pk, "role": acceptance.role.label}
    security_log.log_event("joined", request, **log_fields)
    joined_text = notice_text.JOINED.format(
        workspace=acceptance.workspace.name, role=acceptance.role.label.capitalize()
    )
    messages.success(request, joined_text)
    return redirect("home"), ended_sessions


def _decline_invitation(
    request: HttpRequest, person: Person, invitation: Invitation
) -> HttpResponse:
    invitations.decline_invitation(invitation, person)
    security_log.log_event("invitation declined", request, workspace=invitation.workspace_id)
    declined_text = notice_text.INVITATION_DECLINED.format(workspace=invitation.workspace.name)
    messages.success(request, declined_text)
    return redirect("home")


def _tell_of_removal(request: HttpRequest, removal: Removal) -> None:
    if notice := browser_sessions.log_removal(request, removal.credentials):
        messages.success(request, notice)
    if removal.is_factor_removed:
        security_log.log_event("second factor turned off", request)
        messages.warning(request, notice_text.SECOND_FACTOR_UNPROVEN)


def _note_acceptance(request: HttpRequest) -> None:
    """Make a session the person's own, unless another person's link began it.

    That person may be in it in the person's place, and may have invited them by a second account.
    """
    if browser_sessions.has_other_maker(request):
        messages.warning(request, notice_text.SESSION_BY_ANOTHERS_LINK)
    else:
        request.session[OWN_KEY] = True

"""Account page: a person's sessions, groups, passkeys and data, and their running download."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache

from jpweb.runtime import downloads
from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.notifications import apprise_sender
from jpweb.store import accounts
from jpweb.store.errors import TooManyLinks
from jpweb.store.ledger.entries import Actor, Place
from jpweb.store.people import (
    group_members,
    identities,
    invitations,
    passkeys,
    personal_data,
    second_factors,
    sessions,
)
from jpweb.web import access, notice_text
from jpweb.web.http import require_POST
from jpweb.web.security import browser_sessions, read_recording, security_log, sign_in_page
from jpweb.web.security.download_responses import send_file

if TYPE_CHECKING:
    from jpweb.web.http import Request

PERSONAL_DATA_FILE_NAME = "jpweb-personal-data.json"


@access.signed_in
@never_cache
def show_account(request: Request) -> HttpResponse:
    return _render_page(request)


@access.signed_in
@never_cache
def show_download(request: Request) -> HttpResponse:
    """Show the progress of the person's large download; to htmx its fragment alone."""
    context = {
        "lease": downloads.find_download(request.user.pk),
        "was_running": "was_running" in request.GET,
    }
    name = "_status" if request.htmx else "index"
    return render(request, f"downloads/{name}.html", context)


@access.signed_in
async def download_personal_data(request: Request) -> HttpResponseBase:
    """Download the person's data."""
    name = PERSONAL_DATA_FILE_NAME
    record = partial(read_recording.record_export, request, Place(), file=name)
    pieces = personal_data.make_personal_data(request.user, apprise_sender.redact_address)
    return await send_file(request, pieces, name, "application/json", record=record)


@require_POST
@access.signed_in
@never_cache
def make_sign_in_link(request: Request) -> HttpResponse:
    """Show a one-time sign-in link for another device; it is not shown again."""
    session_maker_id = request.session.get(sessions.MAKER_KEY)
    if session_maker_id and not accounts.can_link_person(session_maker_id, request.user):
        return _render_page(request, problem=notice_text.LINK_WITHOUT_EFFECT)
    try:
        invitations.check_link_rate(session_maker_id or request.user.pk)
    except TooManyLinks as error:
        return _render_page(request, problem=str(error))
    token = accounts.issue_link(request.user, request.user, session_maker_id)
    security_log.log_event("sign-in link made", request, of=request.user.pk)
    return _render_page(request, link=browser_sessions.make_link(request, "sign-in", token))


@require_POST
@access.signed_in
async def end_sign_in(request: Request) -> HttpResponse:
    """End one other session of the person; its open pages close."""
    key_hash = request.POST.get("sign_in", "")
    if await run_in_db_thread(_end_sign_in, request, key_hash):
        await publisher.publish_signed_out([key_hash])
    return redirect("account")


def _end_sign_in(request: Request, key_hash: str) -> bool:
    is_current = key_hash == sessions.hash_key(request.session.session_key or "")
    actor = Actor.from_person(request.user)
    if is_current or not accounts.end_sign_in(request.user.pk, key_hash, actor):
        messages.error(request, notice_text.SIGN_IN_MISSING)
        return False
    security_log.log_event("other sign-in ended", request)
    messages.success(request, notice_text.SIGN_IN_ENDED)
    return True


@require_POST
@access.signed_in
async def end_other_sign_ins(request: Request) -> HttpResponse:
    """End every session of the person but this one, and their unused links."""
    await publisher.publish_signed_out(await run_in_db_thread(_end_other_sign_ins, request))
    return redirect("account")


def _end_other_sign_ins(request: Request) -> list[str]:
    security_log.log_event("other sign-ins ended", request)
    session_key = request.session.session_key
    actor = Actor.from_person(request.user)
    ended_sessions = accounts.end_sign_ins(request.user.pk, actor, session_key)
    messages.success(request, notice_text.OTHER_SIGN_INS_ENDED)
    return ended_sessions


@require_POST
@access.signed_in
async def sign_out_everywhere(request: Request) -> HttpResponse:
    """End every session of the person, this one too, and their unused links."""
    response = redirect("sign-in")
    ended_sessions = await run_in_db_thread(_sign_out_everywhere, request, response)
    await publisher.publish_signed_out(ended_sessions)
    return response


def _sign_out_everywhere(request: Request, response: HttpResponse) -> list[str]:
    security_log.log_event("sign-out everywhere", request)
    ended_sessions = accounts.end_sign_ins(request.user.pk, Actor.from_person(request.user))
    browser_sessions.end_session(request, response)
    messages.success(request, notice_text.SIGNED_OUT_EVERYWHERE)
    return ended_sessions


def _render_page(request: Request, *, link: str = "", problem: str = "") -> HttpResponse:
    context = {
        "sign_ins": sessions.list_open(request.user.pk, request.session.session_key),
        "identities": [
            (row, identities.name_issuer(row.issuer))
            for row in identities.list_identities(request.user.pk)
        ],
        "providers": settings.OIDC_PROVIDERS.values(),
        "invitations": invitations.list_addressed(
            request.user, browser_sessions.list_proven_emails(request)
        ),
        "group_members": group_members.list_group_members_of(request.user.pk),
        "group_refusal": (
            notice_text.GROUP_NEEDS_OWN_SIGN_IN if browser_sessions.has_other_maker(request) else ""
        ),
        "passkeys": passkeys.list_passkeys(request.user.pk),
        "second_factor": second_factors.find_factor(request.user.pk),
        "passkey_domain": sign_in_page.find_passkey_domain(request),
        "link": link,
        "problem": problem,
    }
    return render(request, "account/index.html", context, status=422 if problem else 200)

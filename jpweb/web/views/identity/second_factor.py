"""The second factor of sign-in links: entering a code, and setting the factor up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.request import split_domain_port
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import accounts
from jpweb.store.errors import InvalidLink
from jpweb.store.ledger.entries import Actor
from jpweb.store.people import second_factors, totp
from jpweb.store.people.sessions import OWN_KEY
from jpweb.web import access, display_text, notice_text
from jpweb.web.forms.identity_forms import CodeForm
from jpweb.web.http import require_POST, take_form
from jpweb.web.security import browser_sessions, rate_limits, security_log, sign_in_page
from jpweb.web.views.identity import qr_codes

if TYPE_CHECKING:
    from jpweb.store.models import Person, SecondFactor
    from jpweb.store.people.second_factors import CodeCheck
    from jpweb.web.http import Request
    from jpweb.web.security.browser_sessions import CodeEntry

#: Event of the security log.
_CODE_REFUSED = "second factor refused"


@access.public
@never_cache
@take_form
@sensitive_post_parameters("code")
async def enter_code(request: HttpRequest) -> HttpResponse:
    """Show the form for the code that this session's sign-in link also asks for, or use the code.

    The link is used with the code, so that a wrong code, or none, does not use it up.
    """
    response, ended_sessions = await run_in_db_thread(_enter_code, request)
    await publisher.publish_signed_out(ended_sessions)
    return response


@access.signed_in
@never_cache
def show_factor(request: Request) -> HttpResponse:
    return _render_page(request)


@require_POST
@access.signed_in
@never_cache
def begin_setup(request: Request) -> HttpResponse:
    """Show a new secret. It is shown until the first code confirms it, and not again."""
    is_own = bool(request.session.get(OWN_KEY))
    secret = second_factors.begin_setup(request.user, is_own=is_own)
    if secret is None:
        messages.error(request, notice_text.SECOND_FACTOR_ALREADY_ON)
        return redirect("second-factor")
    return _render_page(request, secret=secret)


@require_POST
@access.signed_in
@never_cache
@sensitive_post_parameters("code")
async def confirm_setup(request: Request) -> HttpResponse:
    """Turn the factor on by a first code, and show the recovery codes once.

    What another person's link led to would let that person in without a code: it ends.
    """
    response, ended_sessions = await run_in_db_thread(_confirm_setup, request)
    await publisher.publish_signed_out(ended_sessions)
    return response


@require_POST
@access.signed_in
@never_cache
@sensitive_post_parameters("code")
def renew_recovery_codes(request: Request) -> HttpResponse:
    """Replace the recovery codes, against a code, and show the new ones once."""
    if problem := _check_own_code(request):
        return _render_page(request, problem=problem)
    codes = second_factors.renew_recovery_codes(request.user)
    security_log.log_event("recovery codes created", request)
    return _render_page(request, codes=codes)


@require_POST
@access.signed_in
@never_cache
@sensitive_post_parameters("code")
def turn_off(request: Request) -> HttpResponse:
    """Turn the factor off, against a code."""
    if second_factors.find_factor(request.user.pk) is None:
        messages.error(request, notice_text.SECOND_FACTOR_MISSING)
        return redirect("second-factor")
    if problem := _check_own_code(request):
        return _render_page(request, problem=problem)
    second_factors.remove_factor(request.user.pk, Actor.from_person(request.user))
    security_log.log_event("second factor turned off", request)
    messages.success(request, notice_text.SECOND_FACTOR_OFF)
    return redirect("account")


def _confirm_setup(request: Request) -> tuple[HttpResponse, list[str]]:
    is_own = bool(request.session.get(OWN_KEY))
    secret = second_factors.find_setup(request.user.pk, is_own=is_own)
    if secret is None:
        return redirect("second-factor"), []
    session_key = request.session.session_key
    code = CodeForm(request.POST).read_code()
    factor = accounts.turn_on_second_factor(
        request.user, code, is_own=is_own, session_key=session_key
    )
    if factor is None:
        return _render_page(request, secret=secret, problem=notice_text.SETUP_CODE_WRONG), []
    security_log.log_event("second factor turned on", request)
    notices = [
        notice_text.SECOND_FACTOR_ON,
        notice_text.SIGN_INS_BY_OTHERS_ENDED if factor.ended_session_hashes else "",
        browser_sessions.log_removal(request, factor.removed_credentials),
    ]
    notice = " ".join(filter(None, notices))
    page = _render_page(request, codes=factor.recovery_codes, notice=notice)
    return page, factor.ended_session_hashes


@sensitive_variables()
def _enter_code(request: HttpRequest) -> tuple[HttpResponse, list[str]]:
    entry = browser_sessions.find_code_entry(request)
    if entry is None and request.method == "POST":
        return sign_in_page.render_page(request, notice_text.CODE_EXPIRED, status=403), []
    if entry is None:
        return redirect("sign-in"), []
    try:
        person = accounts.find_person_of_link(entry.link_id)
        if request.method == "POST":
            return _use_code(request, entry, person)
    except InvalidLink as error:
        return sign_in_page.render_page(request, str(error), status=403), []
    return _render_entry(request, second_factors.find_factor(person.pk)), []


def _use_code(
    request: HttpRequest, entry: CodeEntry, person: Person
) -> tuple[HttpResponse, list[str]]:
    check = second_factors.check_code(person.pk, CodeForm(request.POST).read_code())
    if not check.method:
        factor = second_factors.find_factor(person.pk)
        page = _render_entry(request, factor, notice_text.CODE_WRONG, status=403)
        log_fields = _make_log_fields(person, check)
        return rate_limits.refuse_link(request, _CODE_REFUSED, **log_fields) or page, []
    link = accounts.use_link_after_code(entry.link_id)
    ended_sessions = browser_sessions.begin_session(
        request, link.person, link.maker_id, second_factor=check.method
    )
    return HttpResponseRedirect(entry.next_url), ended_sessions


def _make_log_fields(person: Person, check: CodeCheck) -> dict[str, object]:
    fields: dict[str, object] = {"of": person.pk}
    if check.locked_until is not None:
        fields["locked_until"] = check.locked_until.isoformat(timespec="seconds")
    return fields


def _render_entry(
    request: HttpRequest, factor: SecondFactor | None, problem: str = "", status: int = 200
) -> HttpResponse:
    is_locked = factor is not None and factor.is_locked
    if is_locked and factor and factor.locked_until:
        problem = notice_text.CODE_LOCKED.format(
            until=display_text.format_minute(factor.locked_until)
        )
    context = {"problem": problem, "is_locked": is_locked}
    return render(request, "auth/code.html", context, status=status)


def _check_own_code(request: Request) -> str:
    """Use the code of a form of the signed-in person; return its problem."""
    check = second_factors.check_code(request.user.pk, CodeForm(request.POST).read_code())
    if check.method:
        return ""
    security_log.log_event(_CODE_REFUSED, request, **_make_log_fields(request.user, check))
    if check.locked_until is not None:
        return notice_text.CODE_LOCKED.format(until=display_text.format_minute(check.locked_until))
    return notice_text.CODE_WRONG


def _render_page(
    request: Request,
    *,
    secret: bytes | None = None,
    codes: list[str] | None = None,
    problem: str = "",
    notice: str = "",
) -> HttpResponse:
    factor = second_factors.find_factor(request.user.pk)
    context: dict[str, Any] = {"factor": factor, "codes": codes or [], "problem": problem}
    context |= {"notice": notice, "code_count": second_factors.RECOVERY_CODE_COUNT}
    context["is_session_own"] = bool(request.session.get(OWN_KEY))
    if factor is not None:
        context["codes_left"] = second_factors.count_recovery_codes(factor)
    if secret is not None:
        host, _ = split_domain_port(request.get_host())
        address = totp.make_address(secret, request.user.username, f"jpweb {host}")
        context |= {"qr_code": qr_codes.draw_qr_code(address), "key": totp.format_secret(secret)}
    return render(request, "account/second_factor.html", context, status=422 if problem else 200)

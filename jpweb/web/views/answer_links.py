"""Page of an answer link: one question, answered by one person, once.

The token is the permission, so no session is needed, and the form needs no CSRF token: a page
that does not know the address cannot forge the form. GET changes nothing, since mail scanners
and link previews open links too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import resolution
from jpweb.runtime.inquiries.secret_handover import NoWaitingCall
from jpweb.store.errors import AlreadySettled, InvalidLink, ReadOnlyConversation
from jpweb.store.inquiries import Decider
from jpweb.store.notifications import answer_links
from jpweb.store.notifications.answer_links import LinkStatus, ResolvedLink
from jpweb.stream.errors import InvalidAnswer
from jpweb.stream.markdown import outcome_texts
from jpweb.web import access, notice_text
from jpweb.web.forms.answers import AnswerForm
from jpweb.web.forms.fields import find_problem
from jpweb.web.http import take_form
from jpweb.web.security import rate_limits, read_recording

if TYPE_CHECKING:
    from jpweb.store.models import Inquiry

#: HTTP status codes of the page for a link that cannot settle its question.
CLOSED_STATUSES = {LinkStatus.SETTLED: 200, LinkStatus.CLOSED: 410, LinkStatus.BARRED: 403}

#: Statuses of links whose page shows the question.
CONTENT_STATUSES = frozenset({LinkStatus.LIVE, LinkStatus.SETTLED})


@csrf_exempt
@access.public
@never_cache
@take_form
@sensitive_post_parameters("answer", "note")
async def answer_by_link(request: HttpRequest, token: str) -> HttpResponse:
    """Show a question, or settle it as the person of the link."""
    try:
        link = await run_in_db_thread(answer_links.resolve_link, token)
    except InvalidLink as error:
        return await run_in_db_thread(_refuse_link, request, error)
    if request.method != "HEAD" and link.status in CONTENT_STATUSES:
        read_recording.note_link_read(link.person, link.inquiry.conversation)
    if request.method != "POST":
        return await _render_link(request, link)
    if link.status is not LinkStatus.LIVE:
        is_late = link.status is LinkStatus.SETTLED
        return await _render_link(request, link, is_late=is_late, status=409 if is_late else None)
    return await _settle_by_link(request, token, link)


@sensitive_variables("answer_input")
async def _settle_by_link(request: HttpRequest, token: str, link: ResolvedLink) -> HttpResponse:
    decider = Decider.from_member(link.person, outcome_texts.LINK_CHANNEL)
    form = AnswerForm(link.inquiry, request.POST)
    answer_input = form.make_input()
    if problem := find_problem(form):
        return await _render_card(request, link, problem, 422)
    try:
        if form.is_decline:
            await resolution.decline_inquiry(link.inquiry.pk, decider, answer_input.note)
        else:
            await resolution.answer_inquiry(
                link.inquiry.pk, answer_input.answer, decider, remember=answer_input.remember
            )
    except (InvalidAnswer, ReadOnlyConversation) as error:
        return await _render_card(request, link, str(error), 422)
    except AlreadySettled:
        return await _render_link(
            request,
            await run_in_db_thread(answer_links.resolve_link, token),
            is_late=True,
            status=409,
        )
    except NoWaitingCall:
        return await _render_card(
            request, link, notice_text.NO_WAITING_CALL, 422, keep_answer=False
        )
    await run_in_db_thread(answer_links.mark_used, link.key)
    return await _render_link(
        request, await run_in_db_thread(answer_links.resolve_link, token), is_done=True
    )


def _refuse_link(request: HttpRequest, error: InvalidLink) -> HttpResponse:
    """Answer 404, or 429 above the limit."""
    refusal = rate_limits.refuse_link(request, "answer link refused")
    return refusal or _build_page(request, "invalid", {"problem": str(error)}, 404)


async def _render_link(
    request: HttpRequest,
    link: ResolvedLink,
    *,
    status: int | None = None,
    is_late: bool = False,
    is_done: bool = False,
) -> HttpResponse:
    """Render the card of an open question, or how the link ended."""
    if link.status is LinkStatus.LIVE:
        return await _render_card(request, link)
    # The decider may be the sender, who retries because the first reply was lost.
    is_own_answer = link.inquiry.decider_id == link.person.pk
    context = {
        "is_late": is_late,
        "is_done": is_done,
        "is_own_answer": is_own_answer,
        "unsent_text": "" if is_done else _get_form_text(request, link.inquiry),
    }
    return await _render_page(
        request, link.status.value, context, status or CLOSED_STATUSES[link.status], link
    )


@sensitive_variables("answer_input")
def _get_form_text(request: HttpRequest, inquiry: Inquiry) -> str:
    """Return the answer or the reason that a form has; "" for a secret question."""
    if inquiry.answer_type == "secret":
        return ""
    form = AnswerForm(inquiry, request.POST)
    answer_input = form.make_input()
    return answer_input.note if form.is_decline else answer_input.answer


@sensitive_variables("answer_input")
async def _render_card(
    request: HttpRequest,
    link: ResolvedLink,
    problem: str = "",
    status: int = 200,
    *,
    keep_answer: bool = True,
) -> HttpResponse:
    """Render the card with the form's values, except a secret."""
    answer_input = AnswerForm(link.inquiry, request.POST).make_input()
    shows_answer = keep_answer and link.inquiry.answer_type != "secret"
    context: dict[str, Any] = {
        "problem": problem,
        "typed_text": answer_input.answer if shows_answer else "",
        "note": answer_input.note,
        "remember": answer_input.remember,
    }
    return await _render_page(request, "question", context, status, link)


async def _render_page(
    request: HttpRequest,
    template: str,
    context: dict[str, Any],
    status: int,
    link: ResolvedLink,
) -> HttpResponse:
    inquiry: Inquiry = link.inquiry
    context |= {"row": inquiry, "person": link.person, "can_read": link.can_read}
    return await run_in_db_thread(_build_page, request, template, context, status)


def _build_page(
    request: HttpRequest, template: str, context: dict[str, Any], status: int
) -> HttpResponse:
    """Return a page that is not indexed; ``PrivatePages`` makes it send no Referer."""
    person = context.get("person")
    is_signed_in = (
        person is not None and request.user.is_authenticated and request.user.pk == person.pk
    )
    response = render(
        request,
        f"answer_links/{template}.html",
        context | {"is_signed_in": is_signed_in},
        status=status,
    )
    response["X-Robots-Tag"] = "noindex, nofollow"
    return response

"""Questions: the inbox, the page of one question, answering and declining."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import receipt_buffer
from jpweb.runtime.notifications import push_messages
from jpweb.store import accounts, approvals, inquiries, journal
from jpweb.store.choices import UNFINISHED_STATES, Role
from jpweb.store.inbox import claims, closed_inquiries, previous_answers, receipt_log, snoozes
from jpweb.store.inquiries import Decider
from jpweb.store.notifications import answer_buttons
from jpweb.store.people import sessions
from jpweb.store.reviews import subjects
from jpweb.store.transcript import question_context, single_item
from jpweb.stream import durations
from jpweb.stream.markdown import outcome_texts
from jpweb.web import (
    access,
    annotation_blocks,
    answer_submission,
    converters,
    display_text,
    notice_text,
    review_pages,
    transcript,
)
from jpweb.web.answer_submission import AnswerInput, SubmissionResult
from jpweb.web.forms.answers import AnswerForm, SnoozeForm
from jpweb.web.forms.fields import find_problem
from jpweb.web.forms.filters.inquiry_filters import find_audit_query
from jpweb.web.http import require_POST

if TYPE_CHECKING:
    from jpweb.store.inbox.receipt_log import ReceiptLog
    from jpweb.store.models import Inquiry
    from jpweb.web.forms.verdicts import VerdictForm
    from jpweb.web.http import Request


@access.any_workspace(Role.RESPONDER)
def list_questions(request: Request) -> HttpResponse:
    """Show the cards of the person; ``workspace`` narrows them to one of theirs."""
    person_id = request.user.pk
    counts = approvals.count_waiting_by_workspace(person_id)
    workspace_id = converters.parse_number(request.GET.get("workspace"))
    if workspace_id is not None and not access.has_request_role(
        request, workspace_id, Role.RESPONDER
    ):
        workspace_id = None
    scope = {} if workspace_id is None else {"workspace_id": workspace_id}
    rows = approvals.list_waiting(person_id, **scope)
    previous_answers.attach_previous(rows)
    claims.attach_claims(rows)
    receipt_buffer.note_delivered(
        person_id, [row.pk for row in rows if not approvals.is_approval(row)]
    )
    total_count = counts.get(workspace_id, 0) if workspace_id is not None else sum(counts.values())
    context = {
        "workspace_id": workspace_id,
        "workspace_counts": [
            (workspace, counts.get(workspace.pk, 0))
            for workspace in accounts.list_workspaces(person_id, Role.RESPONDER)
            if workspace.pk in counts or workspace.pk == workspace_id
        ],
        "all_count": sum(counts.values()),
        "pending_rows": rows,
        "pending_total": total_count,
        "hidden_count": max(total_count - len(rows), 0),
        "snoozed_rows": snoozes.list_snoozed(person_id, **scope),
        "undecided_rows": closed_inquiries.list_undecided(person_id),
        "decided_rows": closed_inquiries.list_decided_by(person_id),
    }
    return render(request, "questions/index.html", context)


@access.inquiry(Role.READER)
def show_question(request: Request, inquiry: Inquiry) -> HttpResponse:
    """Show one question: its card while it is pending, its outcome, its timeline.

    htmx gets only the fragments that may have changed: of the card, which may hold a draft, a page
    asks with ``lacks=card``, whose person could not answer before. The page of a settled question
    names the ``revision`` of its conversation; it gets all but its reviews after a redaction, and
    204 otherwise. Auditors also get the reviews.
    """
    if request.htmx and request.GET.get("revision") == str(inquiry.conversation.revision):
        return HttpResponse(status=204)
    return _render_question(request, inquiry)


@access.inquiry(Role.READER)
def show_question_context(request: Request, inquiry: Inquiry) -> HttpResponse:
    """Show the last messages before a question and its tool call, for its card or as a page."""
    context = {"row": inquiry, "context": question_context.load_question_context(inquiry)}
    name = "questions/_context.html" if request.htmx else "questions/context.html"
    return render(request, name, context)


@require_POST
@access.inquiry(Role.RESPONDER)
@sensitive_post_parameters("answer")
async def answer_question(request: Request, inquiry: Inquiry) -> HttpResponse:
    """Answer a question; a secret is neither stored nor sent back."""
    form = AnswerForm(inquiry, request.POST)
    decider = Decider.from_member(request.user)
    reply = await answer_submission.submit_answer(
        inquiry, decider, form.make_input(), find_problem(form)
    )
    return await _send_reply(request, reply)


@require_POST
@access.inquiry(Role.RESPONDER)
@never_cache
def show_notification_buttons(request: Request, inquiry: Inquiry) -> JsonResponse:
    """Send the buttons of a notification that a page shows, and the token that lets them answer."""
    buttons = answer_buttons.list_buttons(inquiry) if inquiry.state == inquiries.OPEN_STATE else []
    sign_in_key = sessions.hash_key(request.session.session_key or "")
    return JsonResponse(push_messages.build_buttons(inquiry.pk, buttons, sign_in_key))


@csrf_exempt
@require_POST
@access.inquiry(Role.RESPONDER)
@sensitive_post_parameters("answer", "token")
async def answer_by_notification(request: Request, inquiry: Inquiry) -> HttpResponse:
    """Answer a question by a button of a notification; 204 where that settled it.

    The service worker has no CSRF token. Its own token is bound to the session and the question.
    """
    sign_in_key = sessions.hash_key(request.session.session_key or "")
    token, answer = request.POST.get("token", ""), request.POST.get("answer", "")
    if not answer_buttons.is_valid_token(token, inquiry.pk, sign_in_key):
        raise PermissionDenied
    if answer not in {button.value for button in answer_buttons.list_buttons(inquiry)}:
        return HttpResponse(status=answer_submission.STATUS_OPEN)
    decider = Decider.from_member(request.user, outcome_texts.NOTIFICATION_CHANNEL)
    reply = await answer_submission.submit_answer(inquiry, decider, AnswerInput(answer))
    is_settled = reply.status == answer_submission.STATUS_SETTLED
    return HttpResponse(status=204 if is_settled else reply.status)


@require_POST
@access.inquiry(Role.RESPONDER)
@sensitive_post_parameters("answer", "note")
async def decline_question(request: Request, inquiry: Inquiry) -> HttpResponse:
    """Close a question without an answer; a note may give the reason."""
    note = AnswerForm(inquiry, request.POST).make_input().note
    decider = Decider.from_member(request.user)
    reply = await answer_submission.submit_decline(inquiry, decider, note)
    return await _send_reply(request, reply)


@access.inquiry(Role.RESPONDER)
def choose_claim(request: Request, inquiry: Inquiry) -> HttpResponse:
    """Show the form that claims a question; scripts post it from the card."""
    if inquiry.state != inquiries.OPEN_STATE:
        return redirect("question", inquiry_id=inquiry.pk)
    context = {"row": inquiry, "kind": "question", "fragment": "questions/_claim_form.html"}
    return render(request, "questions/card_page.html", context)


@require_POST
@access.inquiry(Role.RESPONDER)
async def claim_question(request: Request, inquiry: Inquiry) -> HttpResponse:
    """Tell the team that the person is on a question; another person's claim stays."""
    await run_in_db_thread(claims.claim_question, inquiry, request.user)
    return await _send_claim(request, inquiry)


@require_POST
@access.inquiry(Role.RESPONDER)
async def release_claim(request: Request, inquiry: Inquiry) -> HttpResponse:
    await run_in_db_thread(claims.release_claim, inquiry, request.user)
    return await _send_claim(request, inquiry)


@access.inquiry(Role.RESPONDER)
def choose_snooze(request: Request, inquiry: Inquiry) -> HttpResponse:
    """Show for how long a question can be snoozed, for its card or as a page."""
    if inquiry.state != inquiries.OPEN_STATE:
        if request.htmx:
            return _render_outcome(request, inquiry)
        return redirect("question", inquiry_id=inquiry.pk)
    fragment = "questions/_snooze_form.html"
    name = fragment if request.htmx else "questions/card_page.html"
    return render(request, name, {"row": inquiry, "fragment": fragment})


@require_POST
@access.inquiry(Role.RESPONDER)
async def snooze_question(request: Request, inquiry: Inquiry) -> HttpResponse:
    """Hide a question from the person's own queue for a while."""
    form = SnoozeForm(request.POST)
    if not form.is_valid():
        return await _refuse_snooze(request, inquiry, find_problem(form))
    end = form.cleaned_data["end"]
    if not await run_in_db_thread(snoozes.snooze_question, inquiry, request.user.pk, end):
        return await _refuse_snooze(request, inquiry, notice_text.SNOOZE_REFUSED)
    return await _send_queue(request, inquiry)


@require_POST
@access.inquiry(Role.RESPONDER)
async def wake_question(request: Request, inquiry: Inquiry) -> HttpResponse:
    """Bring a snoozed question back to the person's queue."""
    await run_in_db_thread(snoozes.wake_question, inquiry, request.user.pk)
    return await _send_queue(request, inquiry)


@require_POST
@access.inquiry(Role.AUDITOR)
def review_question(request: Request, inquiry: Inquiry) -> HttpResponse:
    def render_page(form: VerdictForm, status: int) -> HttpResponse:
        return _render_question(request, inquiry, form, status)

    return review_pages.submit_review(request, subjects.load_question(inquiry), render_page)


@require_POST
@access.inquiry(Role.AUDITOR)
def start_review(request: Request, inquiry: Inquiry) -> HttpResponse:
    return review_pages.start_review(request, subjects.load_question(inquiry))


@require_POST
@access.inquiry(Role.AUDITOR)
def assign_review(request: Request, inquiry: Inquiry) -> HttpResponse:
    return review_pages.assign_review(request, subjects.load_question(inquiry))


def _render_question(
    request: Request, inquiry: Inquiry, form: VerdictForm | None = None, status: int = 200
) -> HttpResponse:
    """Render the page of a question; ``form`` is a review that was refused."""
    person_id, workspace_id = request.user.pk, inquiry.conversation.workspace_id
    run = inquiry.run
    is_pending = (
        inquiry.state == inquiries.OPEN_STATE and run is not None and run.state in UNFINISHED_STATES
    )
    shows_card = is_pending and access.has_request_role(request, workspace_id, Role.RESPONDER)
    if shows_card:
        receipt_buffer.note_delivered(person_id, [inquiry.pk])
        claims.attach_claims([inquiry])
    may_audit = access.has_request_role(request, workspace_id, Role.AUDITOR)
    receipts = _load_receipt_log(inquiry) if may_audit else None
    context: dict[str, Any] = {
        "row": inquiry,
        "audit_query": find_audit_query(request) if may_audit else None,
        "is_pending": is_pending,
        "shows_card": shows_card,
        "is_revised": bool(request.htmx) and "revision" in request.GET,
        "lacks_card": request.GET.get("lacks") == "card",
        "shows_conversation": True,
        "receipts": receipts,
        "redactable_anchor": (
            journal.find_anchor(inquiry.conversation_id, inquiry.response_position)
            if may_audit and inquiry.response_position is not None
            else ""
        ),
        "timeline": _build_timeline(inquiry, receipts),
    }
    if request.htmx and not context["is_revised"]:
        return render(request, "questions/_oob_update.html", context)
    if may_audit and (inquiry.state != inquiries.OPEN_STATE or form is not None):
        subject = subjects.load_question(inquiry)
        context["review"] = review_pages.build_panel(request, subject, form)
        annotation_blocks.attach_bookmarks(person_id, inquiry.conversation)
        context["item"] = single_item.load_item(inquiry.conversation_id, inquiry.position)
    name = "questions/_oob_update.html" if request.htmx else "questions/detail.html"
    return render(request, name, context, status=status)


def _load_receipt_log(inquiry: Inquiry) -> ReceiptLog:
    """Return a question's receipts; once it is settled, also those that this process buffers.

    The page that settles it fetches the timeline twice within two seconds, and then not again.
    """
    if inquiry.state != inquiries.OPEN_STATE:
        receipt_buffer.flush_question(inquiry.pk)
    return receipt_log.get_receipt_log(inquiry.pk)


def _build_timeline(row: Inquiry, receipts: ReceiptLog | None) -> list[dict[str, Any]]:
    """Return a question's timeline, with its receipts and notifications if there is a log."""

    def make_step(name: str, at: datetime, person_name: str = "", **details: Any) -> dict[str, Any]:
        elapsed_text = durations.format_duration(max((at - row.asked_at).total_seconds(), 0))
        step = {"name": name, "at": at, "person_name": person_name, "elapsed": elapsed_text}
        return step | details

    steps = [make_step("asked", row.asked_at, row.label or row.asker)]
    for column in display_text.RECEIPT_LABELS if receipts else ():
        receipt = receipt_log.find_earliest(receipts.display_receipts, column) if receipts else None
        if receipt is not None:
            at = getattr(receipt, column)
            steps.append(make_step(column, at, receipt.reader_name))
    for notification in receipts.notifications if receipts else ():
        details = {"problem": notification.problem, "is_in_browser": notification.is_in_browser}
        details["follows_return"] = notification.follows_return
        steps.append(
            make_step("notified", notification.sent_at, notification.person.display_name, **details)
        )
    if row.settled_at is not None:
        steps.append(make_step("settled", row.settled_at))
    # A receipt of the card may be dated after the answer.
    return sorted(steps, key=lambda entry: entry["at"])


async def _send_claim(request: Request, inquiry: Inquiry) -> HttpResponse:
    """Publish a change of a question's claim; send its part of the card, or the queue."""
    await publisher.publish_questions_changed(inquiry.workspace_id)
    if not request.htmx:
        return _redirect_to_card(inquiry)
    await run_in_db_thread(claims.attach_claims, [inquiry])
    claim = inquiry.claim  # type: ignore[attr-defined]  # attached
    context = {"kind": "question", "key": inquiry.pk, "claim": claim}
    return await run_in_db_thread(render, request, "questions/_claim.html", context)


async def _send_queue(request: Request, inquiry: Inquiry) -> HttpResponse:
    """Publish that a question left or joined the person's queue; their sockets send it."""
    await publisher.publish_questions_changed(inquiry.workspace_id)
    return HttpResponse() if request.htmx else _redirect_to_card(inquiry)


def _redirect_to_card(inquiry: Inquiry) -> HttpResponse:
    response = redirect("questions")
    response["Location"] += f"#question-{inquiry.pk}"
    return response


async def _refuse_snooze(request: Request, inquiry: Inquiry, problem: str) -> HttpResponse:
    """Send the card with the reason; it replaces the one that a snooze would remove.

    Of a question that was settled, send its outcome.
    """
    inquiry = await run_in_db_thread(inquiries.get_inquiry, inquiry.pk)
    if inquiry.state != inquiries.OPEN_STATE:
        return await run_in_db_thread(_render_outcome, request, inquiry)
    await run_in_db_thread(claims.attach_claims, [inquiry])
    context = {"row": inquiry, "problem": problem, "shows_conversation": True}
    reply = SubmissionResult(
        answer_submission.STATUS_OPEN, inquiry, "questions/_card.html", context
    )
    response = await _send_reply(request, reply)
    response["HX-Reswap"] = "outerHTML"
    return response


def _render_outcome(request: Request, inquiry: Inquiry) -> HttpResponse:
    """Render the outcome of a question that can be snoozed no longer, in place of its card."""
    fragment = "questions/_settled.html"
    name = fragment if request.htmx else "questions/card_page.html"
    context = {"row": inquiry, "fragment": fragment}
    response = render(request, name, context, status=answer_submission.STATUS_LATE)
    response["HX-Retarget"], response["HX-Reswap"] = f"#question-{inquiry.pk}", "outerHTML"
    return response


async def _send_reply(request: Request, reply: SubmissionResult) -> HttpResponse:
    """Send the card to htmx; where scripts are off, a page or a redirect to the event."""
    if reply.status == answer_submission.STATUS_SETTLED:
        if request.htmx:
            # Rendered without the request: the card needs no CSRF token and no context processor.
            return HttpResponse(await reply.render_html())
        return redirect(transcript.make_event_url(reply.row.conversation_id, reply.row.anchor))
    context, template_name = reply.context, reply.template_name
    if not request.htmx:
        context, template_name = context | {"fragment": template_name}, "questions/card_page.html"
    return await run_in_db_thread(render, request, template_name, context, status=reply.status)

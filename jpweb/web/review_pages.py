"""Reviews on the page of a question or a conversation: their panel, and its forms.

``questions`` and ``audit.conversation_reviews`` are their views.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from jpweb.store.choices import ReviewState, Verdict
from jpweb.store.errors import ReviewRefused
from jpweb.store.ledger.entries import Actor
from jpweb.store.reviews import assignments, queues, reservations, reviews
from jpweb.store.reviews.queues import Queue
from jpweb.web import notice_text
from jpweb.web.forms.fields import find_problem
from jpweb.web.forms.filters.inquiry_filters import find_audit_query
from jpweb.web.forms.verdicts import AssignmentForm, VerdictForm
from jpweb.web.labels import review_labels

if TYPE_CHECKING:
    from jpweb.store.models import Person
    from jpweb.store.reviews.reviews import ReviewHistory, ShownReview, Slot
    from jpweb.store.reviews.subjects import ReviewSubject
    from jpweb.web.http import Request

#: Status of a review that was not saved because of the state of its subject.
STATUS_REFUSED = 409


class SubjectUrls(NamedTuple):
    """The addresses of a subject's page and of its forms."""

    page: str
    submit: str
    start: str
    assign: str


def get_queue_name(request: Request) -> str:
    """Return the queue from which a person came, "" where they did not."""
    name = request.GET.get("queue") or request.POST.get("queue") or ""
    return name if name in queues.QUEUE_NAMES else ""


def make_urls(request: Request, subject: ReviewSubject) -> SubjectUrls:
    """Return the addresses of a subject; its page leads on in the queue, or back to the table."""
    if subject.inquiry is not None:
        page, prefix, key = "question", "question-review", subject.inquiry.pk
    else:
        page, prefix, key = "conversation-reviews", "conversation-review", subject.conversation.pk
    queue_name = get_queue_name(request)
    audit_query = None if queue_name else find_audit_query(request)
    form_query = "" if audit_query is None else f"?{urlencode({'audit': audit_query})}"
    return SubjectUrls(
        reverse(page, args=[key]) + (f"?queue={queue_name}" if queue_name else form_query),
        reverse(prefix, args=[key]) + form_query,
        reverse(f"{prefix}-start", args=[key]) + form_query,
        reverse(f"{prefix}-assign", args=[key]) + form_query,
    )


def build_panel(
    request: Request, subject: ReviewSubject, form: VerdictForm | None = None
) -> dict[str, Any]:
    """Return the panel's context; ``form`` is one that was refused, with its text."""
    person_id, queue_name = request.user.pk, get_queue_name(request)
    history = reviews.load_history(subject)
    refusal, slot = "", None
    try:
        slot = history.find_slot(person_id)
    except ReviewRefused as error:
        refusal = str(error)
    reservation = reservations.find_reservation(subject)
    is_mine = reservation is not None and reservation.person.pk == person_id
    assignee = assignments.find_assignee(subject)
    return {
        "history": history,
        "state": _describe_state(history),
        "reviews": [
            _describe_review(shown_review) for shown_review in history.list_shown(person_id)
        ],
        "slot": slot,
        "slot_label": _describe_slot(history, slot) if slot else "",
        "is_blind": bool(slot and slot.round == reviews.SECOND and not history.is_complete()),
        "refusal": refusal,
        "has_blind_escalation": _has_blind_escalation(history, person_id),
        "reservation": None if is_mine else reservation,
        "shows_form": slot is not None and (is_mine or form is not None),
        "form": form or _make_unbound(history, person_id),
        "verdicts": _list_verdicts(slot),
        "assignee": assignee,
        "auditors": _list_choices(subject, assignee),
        "urls": make_urls(request, subject),
        "queue": _build_queue_bar(request, subject, queue_name) if queue_name else None,
    }


def submit_review(
    request: Request,
    subject: ReviewSubject,
    render_page: Callable[[VerdictForm, int], HttpResponse],
) -> HttpResponse:
    """Save a review and go on in the queue.

    Where it is refused, ``render_page`` shows the page again with what was typed, and a status.
    """
    form = VerdictForm(request.POST)
    if not form.is_valid():
        return render_page(form, 422)
    try:
        reviews.submit_review(subject, request.user, form.make_input())
    except ReviewRefused as error:
        form.add_error(None, str(error))
        return render_page(form, STATUS_REFUSED)
    messages.success(request, notice_text.REVIEW_SAVED)
    queue_name = get_queue_name(request)
    if not queue_name:
        return _show(request, subject)
    return redirect_to_next(request, queue_name, subject.key)


def start_review(request: Request, subject: ReviewSubject) -> HttpResponse:
    """Reserve a subject, so that its form is shown and others see the reviewer."""
    try:
        reviews.load_history(subject).find_slot(request.user.pk)
    except ReviewRefused as error:
        messages.error(request, str(error))
    else:
        key = subject.conversation.pk, subject.anchor
        if not reservations.reserve(*key, request.user.pk):
            reservation = reservations.find_reservation(subject)
            if reservation is not None:
                name, time = reservation.person.display_name, f"{reservation.until:%H:%M}"
                messages.error(request, notice_text.REVIEW_HELD.format(name=name, time=time))
    return _show(request, subject)


def assign_review(request: Request, subject: ReviewSubject) -> HttpResponse:
    """Assign a subject to the person whom the form names, or to nobody."""
    form = AssignmentForm(request.POST)
    if not form.is_valid():
        messages.error(request, find_problem(form))
        return _show(request, subject)
    try:
        actor = Actor.from_person(request.user)
        assignee = assignments.assign(subject, form.cleaned_data["assignee"], actor)
    except ReviewRefused as error:
        messages.error(request, str(error))
    else:
        name = assignee.display_name if assignee else ""
        text = notice_text.REVIEW_ASSIGNED if assignee else notice_text.REVIEW_UNASSIGNED
        messages.success(request, text.format(name=name))
    return _show(request, subject)


def redirect_to_next(request: Request, queue_name: str, after_key: str) -> HttpResponse:
    """Reserve the item of a queue that follows ``after_key``, and redirect to it."""
    queue = queues.load_queues(request.user.pk).queues[queue_name]
    item = queues.reserve_next(queue, request.user.pk, after_key)
    if item is None:
        title = review_labels.QUEUE_LABELS[queue_name][0]
        messages.info(request, notice_text.QUEUE_EMPTY.format(queue=title))
        return redirect("review-queue", queue_name=queue_name)
    if item.inquiry_id is None:
        response = redirect("conversation-reviews", conversation_id=item.conversation_id)
    else:
        response = redirect("question", inquiry_id=item.inquiry_id)
    # Without a fragment browsers keep that of the form, and would scroll past the question.
    response["Location"] += f"?queue={queue_name}#top"
    return response


def describe_progress(queue: Queue) -> dict[str, Any]:
    """Return a queue with its labels and its counts."""
    title, description = review_labels.QUEUE_LABELS[queue.name]
    return {
        "name": queue.name,
        "title": title,
        "description": description,
        "total": len(queue.items),
        "finished": queue.finished_count,
        "has_progress": queue.has_progress,
        "left": len(queue.remaining_items),
    }


def _show(request: Request, subject: ReviewSubject) -> HttpResponse:
    return redirect(f"{make_urls(request, subject).page}#reviews")


def _list_choices(subject: ReviewSubject, assignee: Person | None) -> list[Person]:
    """Return the auditors that the form of the assignment offers, the present assignee included."""
    people = assignments.list_assignable(subject)
    return people if assignee is None or assignee in people else [assignee, *people]


def _has_blind_escalation(history: ReviewHistory, person_id: int) -> bool:
    """Tell whether a person's escalation is kept from the owners until the second review."""
    first_review = history.find_latest(reviews.FIRST)
    if first_review is None or history.is_complete():
        return False
    return (first_review.reviewer_id, first_review.verdict) == (person_id, Verdict.ESCALATE)


def _make_unbound(history: ReviewHistory, person_id: int) -> VerdictForm:
    """Return the form; where the person reviewed before, with that review."""
    rows = [row for row in history.rows if row.reviewer_id == person_id]
    latest_review = rows[-1] if rows and rows[-1].version == history.subject.version else None
    return VerdictForm(
        initial={"verdict": latest_review.verdict, "note": latest_review.note}
        if latest_review
        else {}
    )


def _list_verdicts(slot: Slot | None) -> dict[str, tuple[str, str]]:
    """Return the labels of the verdicts that a review may have."""
    labels = dict(review_labels.VERDICT_LABELS)
    if slot is not None and not slot.can_escalate:
        del labels[Verdict.ESCALATE]
    return labels


def _describe_state(history: ReviewHistory) -> dict[str, str]:
    state, verdict = history.state
    verdict_label = review_labels.VERDICT_LABELS[verdict][0] if verdict else ""
    needs_more = state == ReviewState.UNREVIEWED and history.rounds_required > 1
    return {
        "tag": state,
        "label": review_labels.STATE_LABELS[state],
        "verdict": verdict_label,
        "rounds": str(history.rounds_required) if needs_more else "",
    }


def _describe_slot(history: ReviewHistory, slot: Slot) -> str:
    is_only = slot.round == history.rounds_required == 1
    return review_labels.OWN_REVIEW_LABEL if is_only else review_labels.ROUND_LABELS[slot.round]


def _describe_review(shown_review: ShownReview) -> dict[str, Any]:
    review = shown_review.review
    return {
        "shown": shown_review,
        "round": review_labels.ONLY_REVIEW_LABEL
        if review.round == review.rounds_required == 1
        else review_labels.ROUND_LABELS[review.round],
        "name": review.reviewer_name,
        "at": review.reviewed_at,
        "verdict": "" if shown_review.is_hidden else review.verdict,
        "verdict_label": ""
        if shown_review.is_hidden
        else review_labels.VERDICT_LABELS[review.verdict][0],
        "note": "" if shown_review.is_hidden else review.note,
    }


def _build_queue_bar(request: Request, subject: ReviewSubject, queue_name: str) -> dict[str, Any]:
    queue = queues.load_queues(request.user.pk).queues[queue_name]
    return describe_progress(queue) | {"after": subject.key}

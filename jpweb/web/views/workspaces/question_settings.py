"""Question settings of a workspace: expiry, and the number of reviews; for owners."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from jpweb.store.choices import Role
from jpweb.store.ledger.entries import Actor
from jpweb.store.maintenance import inquiry_expiry
from jpweb.store.workspace_config import review_policy
from jpweb.web import access, display_text, notice_text
from jpweb.web.forms.inquiry_expiry import InquiryExpiryForm
from jpweb.web.forms.verdicts import ReviewCountForm
from jpweb.web.http import require_POST
from jpweb.web.labels import review_labels

if TYPE_CHECKING:
    from jpweb.store.models import Workspace
    from jpweb.web.http import Request


@access.workspace(Role.OWNER)
def show_question_settings(request: Request, workspace: Workspace) -> HttpResponse:
    return _render_page(request, workspace, InquiryExpiryForm.make_unbound(workspace.expires_after))


@require_POST
@access.workspace(Role.OWNER)
def choose_expiry(request: Request, workspace: Workspace) -> HttpResponse:
    """Save the expiry of future questions."""
    form = InquiryExpiryForm(request.POST)
    if not form.is_valid():
        return _render_page(request, workspace, form, status=422)
    seconds = form.cleaned_data["seconds"]
    inquiry_expiry.set_expiry(workspace, seconds, Actor.from_person(request.user))
    text = notice_text.QUESTIONS_NEVER_EXPIRE if seconds is None else notice_text.QUESTIONS_EXPIRE
    time = display_text.format_whole_time(seconds or 0)
    messages.success(request, text.format(workspace=workspace.name, time=time))
    return redirect("question-settings", workspace_id=workspace.pk)


@require_POST
@access.workspace(Role.OWNER)
def choose_review_count(request: Request, workspace: Workspace) -> HttpResponse:
    """Save by how many people the questions of a workspace are reviewed."""
    form = ReviewCountForm(request.POST)
    if form.is_valid():
        count = form.cleaned_data["reviews_required"]
        review_policy.set_reviews_required(workspace, count, Actor.from_person(request.user))
        label = review_labels.REVIEW_COUNT_LABELS[count].lower()
        text = notice_text.REVIEW_COUNT_SAVED.format(workspace=workspace.name, count=label)
        messages.success(request, text)
    else:
        messages.error(request, notice_text.OPTION_REQUIRED)
    return redirect("question-settings", workspace_id=workspace.pk)


def _render_page(
    request: Request, workspace: Workspace, form: InquiryExpiryForm, status: int = 200
) -> HttpResponse:
    review_form = ReviewCountForm(initial={"reviews_required": workspace.reviews_required})
    context = {"workspace": workspace, "form": form, "review_form": review_form}
    return render(request, "question_settings/index.html", context, status=status)

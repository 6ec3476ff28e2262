"""Question expiry of a workspace; for owners."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from jpweb.store.choices import Role
from jpweb.store.ledger.entries import Actor
from jpweb.store.maintenance import inquiry_expiry
from jpweb.web import access, display_text, notice_text
from jpweb.web.forms.inquiry_expiry import InquiryExpiryForm

if TYPE_CHECKING:
    from jpweb.store.models import Workspace
    from jpweb.web.http import Request


@access.workspace(Role.OWNER)
def show_expiry(request: Request, workspace: Workspace) -> HttpResponse:
    form = InquiryExpiryForm.make_unbound(workspace.expires_after)
    return render(request, "question_expiry/index.html", {"workspace": workspace, "form": form})


@require_POST
@access.workspace(Role.OWNER)
def choose_expiry(request: Request, workspace: Workspace) -> HttpResponse:
    """Save the expiry of future questions."""
    form = InquiryExpiryForm(request.POST)
    if not form.is_valid():
        context = {"workspace": workspace, "form": form}
        return render(request, "question_expiry/index.html", context, status=422)
    seconds = form.cleaned_data["seconds"]
    inquiry_expiry.set_expiry(workspace, seconds, Actor.from_person(request.user))
    text = notice_text.QUESTIONS_NEVER_EXPIRE if seconds is None else notice_text.QUESTIONS_EXPIRE
    time = display_text.format_whole_time(seconds or 0)
    messages.success(request, text.format(workspace=workspace.name, time=time))
    return redirect("question-expiry", workspace_id=workspace.pk)

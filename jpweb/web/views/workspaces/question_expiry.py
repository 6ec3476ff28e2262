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
from jpweb.web import access
from jpweb.web.forms.inquiry_expiry import InquiryExpiryForm, format_expiry

if TYPE_CHECKING:
    from jpweb.store.models import Workspace
    from jpweb.web.http import Request


@access.workspace(Role.OWNER)
def show_expiry(request: Request, workspace: Workspace) -> HttpResponse:
    form = InquiryExpiryForm.make_unbound(workspace.expires_after)
    return render(request, "waiting/index.html", {"workspace": workspace, "form": form})


@require_POST
@access.workspace(Role.OWNER)
def choose_expiry(request: Request, workspace: Workspace) -> HttpResponse:
    """Save the expiry of future questions."""
    form = InquiryExpiryForm(request.POST)
    if not form.is_valid():
        context = {"workspace": workspace, "form": form}
        return render(request, "waiting/index.html", context, status=422)
    seconds = form.cleaned_data["seconds"]
    inquiry_expiry.set_expiry(workspace, seconds, Actor.from_person(request.user))
    effect = "never expire" if seconds is None else f"expire after {format_expiry(seconds)}"
    messages.success(request, f"New unanswered questions in {workspace.name} {effect}.")
    return redirect("waiting", workspace_id=workspace.pk)

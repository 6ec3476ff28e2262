"""Page that adds a JP workspace by its folder on the server, in two steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from jpweb.store.errors import StoreError
from jpweb.store.workspace_config import addition
from jpweb.web import access, notice_text
from jpweb.web.forms.settings_forms import AdditionForm
from jpweb.web.http import require_POST
from jpweb.web.security import security_log

if TYPE_CHECKING:
    from jpweb.web.http import Request


@access.first_person
def show_form(request: Request) -> HttpResponse:
    """Ask for the folder of a workspace."""
    return _render_form(request)


@require_POST
@access.first_person
def check_folder(request: Request) -> HttpResponse:
    """Show the contents of the folder, and ask for confirmation."""
    folder, name = _read_fields(request)
    try:
        candidate = addition.inspect_folder(folder, name)
    except StoreError as error:
        return _render_form(request, problem=str(error))
    return render(request, "settings/confirm_workspace.html", {"candidate": candidate})


@require_POST
@access.first_person
def add_workspace(request: Request) -> HttpResponse:
    """Add the workspace, after the same checks as before the confirmation."""
    try:
        workspace = addition.add_workspace(request.user, *_read_fields(request))
    except StoreError as error:
        return _render_form(request, problem=str(error))
    security_log.log_event("workspace added", request, workspace=workspace.pk)
    messages.success(request, notice_text.WORKSPACE_ADDED.format(workspace=workspace.name))
    return redirect(f"{reverse('settings')}#workspace-{workspace.pk}")


def _read_fields(request: Request) -> tuple[str, str]:
    form = AdditionForm(request.POST)
    form.full_clean()
    return form.cleaned_data["folder"], form.cleaned_data["name"]


def _render_form(request: Request, problem: str = "") -> HttpResponse:
    folder, name = _read_fields(request)
    context: dict[str, Any] = {
        "folder": folder,
        "name": name,
        "problem": problem,
        "allowed_roots": settings.WORKSPACE_ROOTS,
    }
    status = 422 if problem else 200
    return render(request, "settings/add_workspace.html", context, status=status)

"""Settings page: a person's own settings, and those of each of their workspaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from jpweb.store import accounts, audit
from jpweb.store.choices import Density, Role, Theme
from jpweb.store.errors import RoleByGroup
from jpweb.store.jp_files import pass_progress
from jpweb.store.workspace_config import demo_membership
from jpweb.web import access, notice_text
from jpweb.web.forms.fields import find_problem
from jpweb.web.forms.settings_forms import AppearanceForm
from jpweb.web.http import require_POST

if TYPE_CHECKING:
    from jpweb.web.http import Request


@access.signed_in
def show_settings(request: Request) -> HttpResponse:
    """Show where each thing is set: for the person, and for each workspace with their role."""
    roles = access.get_roles(request)
    workspaces = access.list_workspaces(request, Role.READER)
    files_by_workspace = pass_progress.describe_files(workspaces)
    context = {
        "themes": Theme.choices,
        "densities": Density.choices,
        "workspace_roles": [
            (
                workspace,
                roles[workspace.pk].label,
                roles[workspace.pk] == Role.OWNER,
                files_by_workspace[workspace.pk],
                audit.is_demo(workspace),
            )
            for workspace in workspaces
        ],
        "is_demo_hidden": request.user.hidden_demo_role is not None,
    }
    return render(request, "settings/index.html", context)


@require_POST
@access.signed_in
def save_appearance(request: Request) -> HttpResponse:
    """Save the theme and the density of the person's pages."""
    form = AppearanceForm(request.POST)
    if form.is_valid():
        accounts.set_appearance(request.user.pk, **form.cleaned_data)
        messages.success(request, notice_text.APPEARANCE_SAVED)
    else:
        messages.error(request, find_problem(form))
    return redirect("settings")


@require_POST
@access.signed_in
def save_demo(request: Request) -> HttpResponse:
    """Hide the demo from the person's pages, or show it again."""
    action = request.POST.get("demo")
    try:
        if action == "hide":
            demo_membership.hide_demo(request.user.pk)
            messages.success(request, notice_text.DEMO_HIDDEN)
        elif action == "show":
            demo_membership.show_demo(request.user.pk)
            messages.success(request, notice_text.DEMO_SHOWN)
        else:
            messages.error(request, notice_text.OPTION_REQUIRED)
    except RoleByGroup as error:
        messages.error(request, str(error))
    return redirect("settings")

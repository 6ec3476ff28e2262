"""People of a workspace and their roles; for owners."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from jpweb.store import accounts
from jpweb.store.disk import attached, binding
from jpweb.store.errors import LastOwner, NameTaken, StoreError
from jpweb.store.terms import Role, Writing
from jpweb.web import access

if TYPE_CHECKING:
    from jpweb.store.models import Membership, Person, Workspace
    from jpweb.web.http import Request


@access.workspace(Role.OWNER)
def index(request: Request, workspace: Workspace) -> HttpResponse:
    return _page(request, workspace)


@require_POST
@access.workspace(Role.OWNER)
def choose_writing(request: Request, workspace: Workspace) -> HttpResponse:
    """Decide whether conversations run here are also written into the workspace."""
    chosen = request.POST.get("writing", "")
    try:
        attached.choose(workspace, Writing(chosen))
        messages.success(request, f"Writing into {workspace.root}: {Writing(chosen).label}.")
    except ValueError:
        messages.error(request, "Choose one of the three.")
    except StoreError as problem:
        messages.error(request, str(problem))
    return redirect("people", workspace_id=workspace.pk)


@require_POST
@access.workspace(Role.OWNER)
@never_cache
def invite(request: Request, workspace: Workspace) -> HttpResponse:
    """Add a person and show their link, this once."""
    name, role = request.POST.get("name", "").strip(), _role(request)
    if not name or role is None:
        return _page(request, workspace, problem="Give a name and a role.")
    try:
        person, made = accounts.invite(workspace, name, role)
    except NameTaken as problem:
        return _page(request, workspace, problem=str(problem))
    if made:
        return _page(request, workspace, person=person)
    messages.success(request, f"{name}, who has an account already, is now {role.label} here.")
    return redirect("people", workspace_id=workspace.pk)


@require_POST
@access.membership(Role.OWNER)
@never_cache
def new_link(request: Request, member: Membership) -> HttpResponse:
    """Show a new one-time link for a member, this once."""
    if not accounts.may_link(request.user.pk, member.person):
        problem = (
            f"{member.person.display_name} is also in a workspace that you do not own; "
            "somebody who owns all of them has to make the link."
        )
        return _page(request, member.workspace, problem=problem)
    return _page(request, member.workspace, person=member.person)


@require_POST
@access.membership(Role.OWNER)
def change_role(request: Request, member: Membership) -> HttpResponse:
    role = _role(request)
    try:
        if role is not None:
            accounts.change_role(member, role)
            messages.success(request, f"{member.person.display_name} is now {role.label}.")
    except LastOwner as problem:
        messages.error(request, str(problem))
    return redirect("people", workspace_id=member.workspace_id)


@require_POST
@access.membership(Role.OWNER)
def remove(request: Request, member: Membership) -> HttpResponse:
    try:
        accounts.remove(member)
        messages.success(request, f"{member.person.display_name} is no longer in this workspace.")
    except LastOwner as problem:
        messages.error(request, str(problem))
    return redirect("people", workspace_id=member.workspace_id)


def _page(
    request: Request, workspace: Workspace, *, problem: str = "", person: Person | None = None
) -> HttpResponse:
    link = ""
    if person is not None:
        token = accounts.issue_link(person)
        link = request.build_absolute_uri(reverse("sign-in-link", kwargs={"token": token}))
    context = {
        "workspace": workspace,
        "members": accounts.members(workspace.pk),
        "roles": list(Role),
        "problem": problem,
        "person": person,
        "link": link,
        "attachable": attached.attachable(workspace),
        "writings": list(Writing),
        "claim": binding.find_claimed(workspace),
    }
    return render(request, "people/index.html", context, status=422 if problem else 200)


def _role(request: Request) -> Role | None:
    return {str(role.value): role for role in Role}.get(request.POST.get("role", ""))

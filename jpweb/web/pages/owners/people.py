"""People of a workspace and their roles; for owners."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from jpweb.store import accounts
from jpweb.store.disk import attached, binding
from jpweb.store.errors import BadName, LastOwner, NameTaken, StoreError, TooManyLinks
from jpweb.store.people import invitations
from jpweb.store.terms import Role, Writing
from jpweb.web import access, numbers, words
from jpweb.web.security import sign_ins, trail

if TYPE_CHECKING:
    from jpweb.store.models import Membership, Workspace
    from jpweb.web.http import Request


class Given(NamedTuple):
    """A link that is shown once: for whom, and what it is."""

    name: str
    link: str
    effect: str


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
        messages.success(
            request,
            f"Save web conversations to {workspace.root}: {words.WRITING[Writing(chosen)]}.",
        )
    except ValueError:
        messages.error(request, "Choose one of the options.")
    except StoreError as problem:
        messages.error(request, str(problem))
    return redirect("people", workspace_id=workspace.pk)


@require_POST
@access.workspace(Role.OWNER)
@never_cache
def invite(request: Request, workspace: Workspace) -> HttpResponse:
    """Invite a person and show the link, this once. It is the same whoever has an account."""
    name, role = request.POST.get("name", "").strip(), _role(request)
    if not name or role is None:
        return _page(request, workspace, problem="Enter a name and choose a role.")
    try:
        token = invitations.invite(workspace, name, role, request.user)
    except (BadName, NameTaken, TooManyLinks) as problem:
        return _page(request, workspace, problem=str(problem))
    trail.record("invited", request, workspace=workspace.pk, name=name, role=role.label)
    given = Given(name, sign_ins.make_link(request, "join", token), "invitation link")
    return _page(request, workspace, given=given)


@require_POST
@access.workspace(Role.OWNER)
def withdraw(request: Request, workspace: Workspace) -> HttpResponse:
    """Withdraw an invitation; one that was taken meanwhile is a membership already."""
    key = numbers.read(request.POST.get("invitation"), numbers.KEY) or 0
    name = invitations.withdraw(workspace.pk, key)
    if name is None:
        messages.error(request, "This invitation no longer exists.")
    else:
        trail.record("invitation withdrawn", request, workspace=workspace.pk, name=name)
        messages.success(request, f"Withdrew the invitation for {name}.")
    return redirect("people", workspace_id=workspace.pk)


@require_POST
@access.membership(Role.OWNER)
@never_cache
def new_link(request: Request, member: Membership) -> HttpResponse:
    """Show a new one-time link for a member, this once."""
    name = member.person.display_name
    if not accounts.may_link(request.user.pk, member.person):
        problem = (
            f"You can't create a sign-in link for {name}. They can create one under Sign-ins, "
            "or the operator can."
        )
        return _page(request, member.workspace, problem=problem)
    try:
        invitations.check_link_rate(request.user.pk)
    except TooManyLinks as problem:
        return _page(request, member.workspace, problem=str(problem))
    token = accounts.issue_link(member.person, maker=request.user)
    trail.record("sign-in link made", request, of=member.person_id)
    given = Given(name, sign_ins.make_link(request, "sign-in", token), "sign-in link")
    return _page(request, member.workspace, given=given)


@require_POST
@access.membership(Role.OWNER)
def change_role(request: Request, member: Membership) -> HttpResponse:
    role = _role(request)
    try:
        if role is not None:
            accounts.change_role(member, role)
            facts = {"workspace": member.workspace_id, "of": member.person_id}
            trail.record("role changed", request, to=role.label, **facts)
            messages.success(
                request, f"{member.person.display_name} is now {role.label.capitalize()}."
            )
    except LastOwner as problem:
        messages.error(request, str(problem))
    return redirect("people", workspace_id=member.workspace_id)


@require_POST
@access.membership(Role.OWNER)
def remove(request: Request, member: Membership) -> HttpResponse:
    try:
        accounts.remove(member)
        facts = {"workspace": member.workspace_id, "of": member.person_id}
        trail.record("member removed", request, **facts)
        messages.success(request, f"Removed {member.person.display_name} from this workspace.")
    except LastOwner as problem:
        messages.error(request, str(problem))
    return redirect("people", workspace_id=member.workspace_id)


def _page(
    request: Request, workspace: Workspace, *, problem: str = "", given: Given | None = None
) -> HttpResponse:
    context = {
        "workspace": workspace,
        "members": accounts.members(workspace.pk),
        "invitations": invitations.list_pending(workspace.pk),
        "roles": list(Role),
        "problem": problem,
        "given": given,
        "attachable": attached.attachable(workspace),
        "writings": words.WRITING,
        "claim": binding.find_claimed(workspace),
    }
    return render(request, "people/index.html", context, status=422 if problem else 200)


def _role(request: Request) -> Role | None:
    return {str(role.value): role for role in Role}.get(request.POST.get("role", ""))

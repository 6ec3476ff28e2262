"""Members of a workspace, their roles and invitations; for owners."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import accounts
from jpweb.store.choices import Role
from jpweb.store.errors import (
    InvalidName,
    LastOwner,
    MembershipEnded,
    NameTaken,
    RoleByGroup,
    StoreError,
    TooManyLinks,
)
from jpweb.store.jp_files import attachments, pass_progress, silo_bindings
from jpweb.store.ledger.entries import Actor
from jpweb.store.people import groups, invitations, member_roles
from jpweb.web import access, display_text, notice_text
from jpweb.web.forms.fields import RowKeyForm, find_problem
from jpweb.web.forms.memberships import InvitationForm, RoleForm
from jpweb.web.forms.settings_forms import WritePolicyForm
from jpweb.web.http import require_POST
from jpweb.web.security import browser_sessions, security_log

if TYPE_CHECKING:
    from jpweb.store.models import Membership, Workspace
    from jpweb.web.http import Request


class IssuedLink(NamedTuple):
    """A link that is shown once, with its person and its effect."""

    name: str
    link: str
    effect: str


class MemberRow(NamedTuple):
    """A member, and the names of the groups by which they have more than their own role."""

    member: Membership
    group_names: list[str]


@access.workspace(Role.OWNER)
def list_members(request: Request, workspace: Workspace) -> HttpResponse:
    return _render_page(request, workspace)


@require_POST
@access.workspace(Role.OWNER)
async def choose_writing(request: Request, workspace: Workspace) -> HttpResponse:
    """Save whether jpweb also writes its conversations into the workspace.

    Open pages are told: it decides whether conversations that jp wrote can be continued there.
    """
    await run_in_db_thread(_save_write_policy, request, workspace)
    await publisher.publish_settings_changed(workspace.pk)
    return redirect("people", workspace_id=workspace.pk)


def _save_write_policy(request: Request, workspace: Workspace) -> None:
    form = WritePolicyForm(request.POST)
    if not form.is_valid():
        messages.error(request, find_problem(form))
        return
    policy = form.cleaned_data["writing"]
    try:
        attachments.set_write_policy(workspace, policy, Actor.from_person(request.user))
        log_fields = {"workspace": workspace.pk, "to": str(policy)}
        security_log.log_event("writing changed", request, **log_fields)
        policy_label = display_text.WRITE_POLICY_LABELS[policy]
        saved_text = notice_text.WRITE_POLICY_SAVED
        messages.success(request, saved_text.format(folder=workspace.root, policy=policy_label))
    except StoreError as error:
        messages.error(request, str(error))


@require_POST
@access.workspace(Role.OWNER)
@never_cache
def invite_member(request: Request, workspace: Workspace) -> HttpResponse:
    """Invite a person and show the link once; the page does not reveal existing accounts."""
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return _render_page(request, workspace, form=form)
    name, role = form.cleaned_data["name"], form.cleaned_data["role"]
    try:
        token = invitations.create_invitation(workspace, name, role, request.user)
    except (InvalidName, NameTaken, TooManyLinks) as error:
        form.add_error(None if isinstance(error, TooManyLinks) else "name", str(error))
        return _render_page(request, workspace, form=form)
    security_log.log_event("invited", request, workspace=workspace.pk, name=name, role=role.label)
    issued_link = IssuedLink(
        name,
        browser_sessions.make_link(request, "join", token),
        display_text.INVITATION_LINK_LABEL,
    )
    return _render_page(request, workspace, issued_link=issued_link)


@require_POST
@access.workspace(Role.OWNER)
def withdraw_invitation(request: Request, workspace: Workspace) -> HttpResponse:
    """Withdraw an invitation that was not accepted yet."""
    key = RowKeyForm(request.POST, "invitation").read_key()
    actor = Actor.from_person(request.user)
    name = invitations.withdraw_invitation(workspace.pk, key, actor)
    if name is None:
        messages.error(request, notice_text.INVITATION_UNKNOWN)
    else:
        security_log.log_event("invitation withdrawn", request, workspace=workspace.pk, name=name)
        messages.success(request, notice_text.INVITATION_WITHDRAWN.format(name=name))
    return redirect("people", workspace_id=workspace.pk)


@require_POST
@access.membership(Role.OWNER)
@never_cache
def make_member_link(request: Request, member: Membership) -> HttpResponse:
    """Show a new one-time sign-in link for a member; it is not shown again."""
    name = member.person.display_name
    if not member.person.is_active:
        problem = notice_text.MEMBER_DEACTIVATED.format(name=name)
        return _render_page(request, member.workspace, problem=problem)
    if not accounts.can_link_person(request.user.pk, member.person):
        problem = notice_text.MEMBER_LINK_REFUSED.format(name=name)
        return _render_page(request, member.workspace, problem=problem)
    try:
        invitations.check_link_rate(request.user.pk)
    except TooManyLinks as problem:
        return _render_page(request, member.workspace, problem=str(problem))
    token = accounts.issue_link(member.person, maker=request.user)
    security_log.log_event("sign-in link made", request, of=member.person_id)
    issued_link = IssuedLink(
        name,
        browser_sessions.make_link(request, "sign-in", token),
        display_text.SIGN_IN_LINK_LABEL,
    )
    return _render_page(request, member.workspace, issued_link=issued_link)


@require_POST
@access.membership(Role.OWNER)
def change_role(request: Request, member: Membership) -> HttpResponse:
    form = RoleForm(request.POST)
    try:
        if form.is_valid():
            own_role = form.cleaned_data["role"]
            role = accounts.change_role(member, own_role, Actor.from_person(request.user))
            log_fields = {"workspace": member.workspace_id, "of": member.person_id}
            security_log.log_event("role changed", request, to=role.label, **log_fields)
            messages.success(request, _describe_role(member, own_role, role))
        else:
            messages.error(request, find_problem(form))
    except (LastOwner, MembershipEnded) as error:
        messages.error(request, str(error))
    return _redirect_to_people(request, member.workspace_id)


def _describe_role(member: Membership, own_role: Role, role: Role) -> str:
    """Say which role a member has now, and by which groups where it is not their own."""
    grouped_roles = member_roles.list_roles([member.person_id], [member.workspace_id])
    group_names = member_roles.list_deciding_groups(own_role, grouped_roles)
    text = notice_text.ROLE_CHANGED if role == own_role else notice_text.OWN_ROLE_CHANGED
    return text.format(
        name=member.person.display_name,
        role=role.label.capitalize(),
        own_role=own_role.label.capitalize(),
        groups=", ".join(group_names),
    )


@require_POST
@access.membership(Role.OWNER)
def remove_member(request: Request, member: Membership) -> HttpResponse:
    try:
        accounts.remove_member(member, Actor.from_person(request.user))
        log_fields = {"workspace": member.workspace_id, "of": member.person_id}
        security_log.log_event("member removed", request, **log_fields)
        name = member.person.display_name
        messages.success(request, notice_text.MEMBER_REMOVED.format(name=name))
    except (LastOwner, MembershipEnded, RoleByGroup) as error:
        messages.error(request, str(error))
    return _redirect_to_people(request, member.workspace_id)


def _redirect_to_people(request: Request, workspace_id: int) -> HttpResponse:
    """Go to the people of a workspace; to the settings where the person owns it no longer."""
    if access.has_role(request.user.pk, workspace_id, Role.OWNER):
        return redirect("people", workspace_id=workspace_id)
    return redirect("settings")


def _list_rows(workspace_id: int) -> list[MemberRow]:
    """Return the members of a workspace with the groups that decide their roles; two queries."""
    members = list(accounts.list_members(workspace_id))
    roles_by_person: dict[int, list[member_roles.GroupedRole]] = defaultdict(list)
    person_ids = [member.person_id for member in members]
    for grouped_role in member_roles.list_roles(person_ids, [workspace_id]):
        roles_by_person[grouped_role.person_id].append(grouped_role)
    return [
        MemberRow(
            member,
            member_roles.list_deciding_groups(
                None if member.direct_role is None else Role(member.direct_role),
                roles_by_person[member.person_id],
            ),
        )
        for member in members
    ]


def _render_page(
    request: Request,
    workspace: Workspace,
    *,
    form: InvitationForm | None = None,
    problem: str = "",
    issued_link: IssuedLink | None = None,
) -> HttpResponse:
    group_roles = list(groups.list_roles(workspace.pk))
    affected_counts = groups.count_affected_people(workspace.pk) if group_roles else {}
    context = {
        "workspace": workspace,
        "form": form or InvitationForm(),
        "members": _list_rows(workspace.pk),
        "invitations": invitations.list_pending(workspace.pk),
        "roles": list(Role),
        "group_roles": [
            (group_role, affected_counts.get(group_role.group_id, 0)) for group_role in group_roles
        ],
        "pending_people": groups.list_pending_people(workspace.pk),
        "problem": problem,
        "issued_link": issued_link,
        "is_attachable": attachments.is_attachable(workspace),
        "write_policies": display_text.WRITE_POLICY_LABELS,
        "files": pass_progress.describe_files([workspace])[workspace.pk],
        "unbound_workspace": silo_bindings.find_unbound(workspace),
    }
    return render(request, "people/index.html", context, status=422 if form or problem else 200)

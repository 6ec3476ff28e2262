"""Groups: their people, and their roles in the workspaces of an owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store import accounts
from jpweb.store.choices import Role
from jpweb.store.errors import InvalidName, LastOwner, NameTaken, UnmanagedGroup
from jpweb.store.ledger.entries import Actor
from jpweb.store.people import group_members, groups
from jpweb.web import access, notice_text
from jpweb.web.forms.fields import RowKeyForm
from jpweb.web.forms.memberships import GroupForm, OptionalRoleForm
from jpweb.web.http import require_POST
from jpweb.web.security import security_log

if TYPE_CHECKING:
    from jpweb.store.models import Person, Workspace
    from jpweb.store.people.groups import GroupSummary
    from jpweb.web.http import Request


@access.any_workspace(Role.OWNER)
def list_groups(request: Request) -> HttpResponse:
    return _render_list(request, GroupForm())


@require_POST
@access.any_workspace(Role.OWNER)
def create_group(request: Request) -> HttpResponse:
    """Create a group and show it; without people or roles it changes no right."""
    form = GroupForm(request.POST)
    if not form.is_valid():
        return _render_list(request, form)
    try:
        group = groups.create_group(form.cleaned_data["name"], request.user)
    except (InvalidName, NameTaken) as error:
        form.add_error("name", str(error))
        return _render_list(request, form)
    messages.success(request, notice_text.GROUP_CREATED.format(group=group.name))
    return redirect("group", group_id=group.pk)


@access.managed_group
def show_group(request: Request, summary: GroupSummary) -> HttpResponse:
    given_roles = {group_role.workspace_id: group_role.role for group_role in summary.roles}
    context = {
        "summary": summary,
        "departures": group_members.list_departures(summary.group),
        "candidates": group_members.list_candidates(summary.group, request.user.pk),
        "workspace_roles": [
            (workspace, given_roles.get(workspace.pk))
            for workspace in access.list_workspaces(request, Role.OWNER)
        ],
        "roles": list(Role),
    }
    return render(request, "groups/detail.html", context)


@require_POST
@access.managed_group
async def add_person(request: Request, summary: GroupSummary) -> HttpResponse:
    """Add a member of the owner's workspaces, whom the group lets into others once they join it."""
    ended_sessions = await run_in_db_thread(_add_person, request, summary)
    await publisher.publish_signed_out(ended_sessions)
    return await run_in_db_thread(_redirect_to_group, request, summary.group.pk)


def _add_person(request: Request, summary: GroupSummary) -> list[str]:
    group = summary.group
    candidates = group_members.list_candidates(group, request.user.pk)
    key = RowKeyForm(request.POST, "person").read_key()
    person = candidates.filter(pk=key).first()
    if person is None:
        messages.error(request, _describe_refused_person(summary, key))
        return []
    try:
        ended_sessions = group_members.add_person(group, person, Actor.from_person(request.user))
    except (NameTaken, UnmanagedGroup) as error:
        messages.error(request, str(error))
        return []
    security_log.log_event("added to group", request, group=group.name, of=person.pk)
    is_oneself = person.pk == request.user.pk
    notice = notice_text.GROUP_PERSON_ADDED if is_oneself else notice_text.GROUP_PERSON_INVITED
    messages.success(request, notice.format(name=person.display_name, group=group.name))
    return ended_sessions


def _find_person(summary: GroupSummary, key: int) -> Person | None:
    """Return a person of the group, None for any other key."""
    people = (member.person for member in summary.members)
    return next((person for person in people if person.pk == key), None)


def _describe_refused_person(summary: GroupSummary, key: int) -> str:
    """Say why a person can't be added; of people outside the group nothing is said."""
    person = _find_person(summary, key)
    if person is None:
        return notice_text.GROUP_PERSON_REQUIRED
    notice = notice_text.GROUP_PERSON_PRESENT
    return notice.format(name=person.display_name, group=summary.group.name)


@require_POST
@access.managed_group
def remove_person(request: Request, summary: GroupSummary) -> HttpResponse:
    group, key = summary.group, RowKeyForm(request.POST, "person").read_key()
    person = _find_person(summary, key)
    if person is None:
        messages.error(request, notice_text.GROUP_PERSON_ABSENT.format(group=group.name))
        return redirect("group", group_id=group.pk)
    try:
        group_members.remove_person(group, person, Actor.from_person(request.user))
    except (LastOwner, UnmanagedGroup) as error:
        messages.error(request, str(error))
        return _redirect_to_group(request, group.pk)
    security_log.log_event("removed from group", request, group=group.name, of=person.pk)
    notice = notice_text.GROUP_PERSON_REMOVED
    messages.success(request, notice.format(name=person.display_name, group=group.name))
    return _redirect_to_group(request, group.pk)


@require_POST
@access.managed_group
def delete_group(request: Request, summary: GroupSummary) -> HttpResponse:
    group, key = summary.group, summary.group.pk
    try:
        groups.delete_group(group, Actor.from_person(request.user))
    except (LastOwner, UnmanagedGroup) as error:
        messages.error(request, str(error))
        return _redirect_to_group(request, group.pk)
    security_log.log_event("group deleted", request, group=group.name)
    messages.success(request, notice_text.GROUP_DELETED.format(group=group.name))
    return _redirect_to_group(request, key)


@require_POST
@access.workspace(Role.OWNER)
async def choose_role(request: Request, workspace: Workspace) -> HttpResponse:
    """Give a group a role in the workspace, or take its role away."""
    response, ended_sessions = await run_in_db_thread(_choose_role, request, workspace)
    await publisher.publish_signed_out(ended_sessions)
    return response


def _choose_role(request: Request, workspace: Workspace) -> tuple[HttpResponse, list[str]]:
    key = RowKeyForm(request.POST, "group").read_key()
    summary = groups.get_managed(key, request.user.pk)
    form = OptionalRoleForm(request.POST)
    if summary is None or not form.is_valid():
        problem = notice_text.ROLE_REQUIRED if summary else notice_text.GROUP_UNKNOWN
        messages.error(request, problem)
        return _redirect_to_group(request, key), []
    role, actor = form.cleaned_data["role"], Actor.from_person(request.user)
    names = {"group": summary.group.name, "workspace": workspace.name}
    ended_sessions: list[str] = []
    try:
        if role is None:
            groups.take_role(summary.group, workspace, actor)
            notice = notice_text.GROUP_ROLE_TAKEN.format(**names)
        else:
            ended_sessions = groups.give_role(summary.group, workspace, role, actor)
            notice = _choose_notice(summary.group.pk, workspace.pk)
            notice = notice.format(role=role.label.capitalize(), **names)
    except (LastOwner, NameTaken, UnmanagedGroup) as error:
        messages.error(request, str(error))
        return _redirect_to_group(request, key), []
    security_log.log_event("role of group changed", request, of=workspace.pk, **names)
    messages.success(request, notice)
    return _redirect_to_group(request, key), ended_sessions


def _choose_notice(group_id: int, workspace_id: int) -> str:
    """Return the message on a given role; some people may not have joined the group."""
    pending_people = groups.list_pending_people(workspace_id).filter(group_id=group_id)
    if pending_people.exists():
        return notice_text.GROUP_ROLE_OFFERED
    return notice_text.GROUP_ROLE_GIVEN


@require_POST
@access.workspace(Role.OWNER)
def take_role(request: Request, workspace: Workspace) -> HttpResponse:
    """Take a group out of the workspace, also one whose other workspaces the owner has not."""
    key = RowKeyForm(request.POST, "group").read_key()
    group_role = groups.list_roles(workspace.pk).filter(group_id=key).first()
    if group_role is None:
        messages.error(request, notice_text.GROUP_UNKNOWN)
        return redirect("people", workspace_id=workspace.pk)
    try:
        groups.take_role(group_role.group, workspace, Actor.from_person(request.user))
    except (LastOwner, UnmanagedGroup) as error:
        messages.error(request, str(error))
        return redirect("people", workspace_id=workspace.pk)
    names = {"group": group_role.group.name, "workspace": workspace.name}
    security_log.log_event("role of group changed", request, of=workspace.pk, **names)
    messages.success(request, notice_text.GROUP_ROLE_TAKEN.format(**names))
    if not access.has_role(request.user.pk, workspace.pk, Role.OWNER):
        return redirect("settings")
    return redirect("people", workspace_id=workspace.pk)


def _redirect_to_group(request: Request, group_id: int) -> HttpResponse:
    """Go to the page of a group that the person manages, else to the list of groups.

    That list is for owners: go to the settings where the person owns no workspace any longer.
    """
    if groups.get_managed(group_id, request.user.pk) is not None:
        return redirect("group", group_id=group_id)
    is_owner = Role.OWNER in accounts.get_roles(request.user.pk).values()
    return redirect("groups" if is_owner else "settings")


def _render_list(request: Request, form: GroupForm) -> HttpResponse:
    context = {"groups": groups.list_managed(request.user.pk), "form": form}
    return render(request, "groups/index.html", context, status=422 if form.is_bound else 200)

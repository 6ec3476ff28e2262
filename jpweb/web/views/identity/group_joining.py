"""The groups that a person was added to: joining one, declining it and leaving it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect

from jpweb.runtime.broadcast import publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store.errors import LastOwner, MembershipEnded, NameTaken
from jpweb.store.people import group_members
from jpweb.web import access, notice_text
from jpweb.web.forms.fields import RowKeyForm
from jpweb.web.http import require_POST
from jpweb.web.security import browser_sessions, security_log

if TYPE_CHECKING:
    from jpweb.store.models import GroupMember
    from jpweb.web.http import Request


@require_POST
@access.signed_in
async def join_group(request: Request) -> HttpResponse:
    """Accept a group; sign-ins that others made end where it lets the person into a workspace.

    A session that another person's sign-in link led to does not: consent is the person's own.
    """
    await publisher.publish_signed_out(await run_in_db_thread(_join_group, request))
    return redirect("account")


def _join_group(request: Request) -> list[str]:
    group_member = _find_group_member(request)
    if group_member is None:
        return []
    if browser_sessions.has_other_maker(request):
        messages.error(request, notice_text.GROUP_NEEDS_OWN_SIGN_IN)
        return []
    try:
        ended_sessions = group_members.accept_group(group_member, request.user)
    except (MembershipEnded, NameTaken) as error:
        messages.error(request, str(error))
        return []
    security_log.log_event("joined group", request, group=group_member.group.name)
    messages.success(request, notice_text.GROUP_JOINED.format(group=group_member.group.name))
    return ended_sessions


@require_POST
@access.signed_in
def leave_group(request: Request) -> HttpResponse:
    """Decline or leave a group, and lose the roles that it alone gives."""
    group_member = _find_group_member(request)
    if group_member is None:
        return redirect("account")
    try:
        group_members.leave_group(group_member, request.user)
    except (LastOwner, MembershipEnded) as error:
        messages.error(request, str(error))
        return redirect("account")
    event, notice = "declined group", notice_text.GROUP_DECLINED
    if group_member.accepted_at:
        event, notice = "left group", notice_text.GROUP_LEFT
    security_log.log_event(event, request, group=group_member.group.name)
    messages.success(request, notice.format(group=group_member.group.name))
    return redirect("account")


def _find_group_member(request: Request) -> GroupMember | None:
    """Return the person's row in the group of the form; tell them where they have none."""
    key = RowKeyForm(request.POST, "group").read_key()
    group_member = group_members.list_group_members_of(request.user.pk).filter(group_id=key).first()
    if group_member is None:
        messages.error(request, group_members.NO_LONGER_IN_GROUP)
    return group_member

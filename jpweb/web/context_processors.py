"""Context that every template gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django.conf import settings
from django.http import HttpRequest

from jpweb.store import approvals
from jpweb.store.choices import Role
from jpweb.web import access

if TYPE_CHECKING:
    from jpweb.web.http import Request


def describe_navigation(request: HttpRequest) -> dict[str, Any]:
    """Return the header's context: workspaces, roles and the number of pending questions."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    own_request = cast("Request", request)
    roles = access.get_roles(own_request)
    member_workspaces = access.list_workspaces(own_request, Role.READER) if roles else []
    return {
        "may_audit": any(role.has_rights_of(Role.AUDITOR) for role in roles.values()),
        "audited_workspace_ids": {
            workspace_id for workspace_id, role in roles.items() if role.has_rights_of(Role.AUDITOR)
        },
        "may_answer": any(role.has_rights_of(Role.RESPONDER) for role in roles.values()),
        "member_workspaces": member_workspaces,
        "owned_workspaces": [
            member_workspace
            for member_workspace in member_workspaces
            if roles.get(member_workspace.pk) == Role.OWNER
        ],
        "waiting_count": approvals.count_waiting(user.pk),
        "may_add_workspaces": access.is_first_person_session(request),
        "undo_seconds": settings.UNDO_SECONDS,
        "section": request.path.strip("/").partition("/")[0],
    }

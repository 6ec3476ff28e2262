"""The role of a person whose answer, decision or message is about to be committed.

A request's role is checked before it waits for the conversation's lock, on SQLite for up to
SQLITE_LOCK_SECONDS. It may end meanwhile, so it is read again under the lock.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet

from jpweb.store.choices import Role
from jpweb.store.errors import StoreError
from jpweb.store.models import Membership


class RoleEnded(StoreError, PermissionDenied):
    """The person was removed, given a lower role or deactivated since the request came; a 403."""

    def __init__(self) -> None:
        super().__init__("You may no longer answer in this workspace.")


def list_active(person_ids: Collection[int], workspace_id: Any) -> QuerySet[Any, Any]:
    """Return the roles of people in a workspace, of those who are not deactivated."""
    rows = Membership.objects.filter(person_id__in=person_ids, person__is_active=True)
    return rows.filter(workspace_id=workspace_id).values_list("role", flat=True)


def require_current_responder(person_id: int, workspace_id: int) -> None:
    """Raise RoleEnded for a person who may not answer in a workspace, as the database is now."""
    require_responder(next(iter(list_active([person_id], workspace_id)), None))


def require_responder(role: int | None) -> None:
    """Raise RoleEnded for a role that does not include a responder's."""
    if role is None or not Role(role).has_rights_of(Role.RESPONDER):
        raise RoleEnded

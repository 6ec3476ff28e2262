"""Bindings of user-local silos to the workspace roots that had their id first.

A silo is found by the id in ``.jp/.id``, which any writer of a workspace can copy from
another. So a row stores the id that was bound to its root; under any other id its silo
does not count until an owner confirms it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from django.db import transaction
from django.db.models import Q

from jpweb.store.choices import Act, Role
from jpweb.store.errors import NoWorkspace, StoreError
from jpweb.store.jp_files import silo, workspace
from jpweb.store.jp_files.workspace import DiskWorkspace
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import Membership, Person, Workspace
from jpweb.store.sql.compiled_query import CompiledQuery

#: Why a pass leaves rows that it would have changed or marked as deleted.
MISSING_SILO_TEXT = (
    "The user-local copies, which were read before, are not there. No conversation is marked as "
    "deleted, and older copies are ignored. Run jpweb as the user of jp, or set JP_USER_DATA_DIR."
)

#: The ORM takes 0.22 ms longer, of a pass over a new workspace of 25 ms.
_find_claims = CompiledQuery(
    lambda jp_ids, excluded_roots: (
        Workspace.objects.filter(Q(jp_id__in=jp_ids) | Q(copies_id__in=jp_ids))
        .exclude(root__in=excluded_roots)
        .values_list("pk")[:1]
    )
)


def find_bound(workspace_row: Workspace) -> DiskWorkspace:
    """Find a workspace on disk, with the silo that is bound to it. Raises NoWorkspace."""
    root = Path(workspace_row.root)
    if not root.is_absolute():
        raise NoWorkspace("The demo is part of jpweb and has no folder of its own.")
    return workspace.find_workspace_at(root, workspace_row.copies_id)


def find_bound_silo(workspace_row: Workspace) -> Path | None:
    """Return the folder of the user-local files that count for a workspace, or None."""
    try:
        return find_bound(workspace_row).silo
    except NoWorkspace:
        return None


def find_writable(workspace_row: Workspace) -> DiskWorkspace:
    """As ``find_bound``. Raises StoreError where the silo that jp would write into is not bound."""
    disk_workspace = find_bound(workspace_row)
    if disk_workspace.unbound_silo is not None:
        raise StoreError(f"{describe_unbound(disk_workspace)} Nothing was written.")
    return disk_workspace


def can_bind(disk_workspace: DiskWorkspace) -> bool:
    """Tell whether a new root may be bound to the silo of its id."""
    if _find_claims([disk_workspace.jp_id], [str(disk_workspace.root)]):
        return False
    return disk_workspace.unbound_silo is None or not silo.is_linked_elsewhere(
        disk_workspace.unbound_silo, disk_workspace.root
    )


def choose_bound_id(workspace_row: Workspace | None, disk_workspace: DiskWorkspace) -> str:
    """Return the id that is bound to a root, of a new one its own where that may be bound."""
    if workspace_row is not None:
        return workspace_row.copies_id
    return disk_workspace.jp_id if can_bind(disk_workspace) else ""


def bind_silo(disk_workspace: DiskWorkspace, bound_id: str) -> DiskWorkspace:
    """Return a workspace without a bound silo with its own, where ``bound_id`` is its id."""
    if disk_workspace.jp_id != bound_id:
        return disk_workspace
    return replace(disk_workspace, silo=disk_workspace.unbound_silo, unbound_silo=None)


def describe_unbound(disk_workspace: DiskWorkspace) -> str:
    """Return one line on the unbound silo and the remedy; empty where there is none."""
    if disk_workspace.unbound_silo is None:
        return ""
    return (
        f"The user-local copies in {disk_workspace.unbound_silo} are not read: "
        f"the id {disk_workspace.jp_id} is not "
        "confirmed for this folder. An owner can confirm it on the page “People”."
    )


def is_silo_missing(workspace_row: Workspace | None, disk_workspace: DiskWorkspace) -> bool:
    """Tell whether user-local copies that a pass has read are not there for this account.

    That is no sign that jp deleted conversations: it makes a missing silo again when it is used.
    """
    return (
        workspace_row is not None
        and workspace_row.has_silo
        and disk_workspace.silo is None
        and disk_workspace.jp_id == workspace_row.copies_id
    )


def record_silo(workspace_row: Workspace, disk_workspace: DiskWorkspace) -> None:
    """Record that the user-local copies of a workspace are read."""
    if disk_workspace.silo is not None and not workspace_row.has_silo:
        Workspace.objects.filter(pk=workspace_row.pk).update(has_silo=True)


def is_older(disk_fingerprint: str, stored_fingerprint: str) -> bool:
    """Tell whether files are older than those that were read, by metadata or events."""
    pairs = zip(_list_mtimes(disk_fingerprint), _list_mtimes(stored_fingerprint), strict=True)
    return any(disk_mtime < stored_mtime for disk_mtime, stored_mtime in pairs)


def _list_mtimes(fingerprint: str) -> list[int]:
    """Return the times of a fingerprint in nanoseconds, -1 for a missing file."""
    parts = (part.split(".") for part in workspace.split_fingerprint(fingerprint))
    return [int(part[1]) if len(part) > 1 else -1 for part in parts]


def find_unbound(workspace_row: Workspace) -> DiskWorkspace | None:
    """Return a workspace on disk whose silo waits for confirmation, or None."""
    try:
        disk_workspace = find_bound(workspace_row)
    except NoWorkspace:
        return None
    return disk_workspace if disk_workspace.unbound_silo is not None else None


@transaction.atomic
def confirm_silo(workspace_row: Workspace, person: Person, jp_id: str) -> None:
    """Bind the silo of the id that a person saw to a workspace.

    Raises StoreError where the id has changed since, or where the person does not own every
    workspace that the silo is bound to.
    """
    disk_workspace = find_bound(workspace_row)
    if disk_workspace.unbound_silo is None or disk_workspace.jp_id != jp_id:
        raise StoreError("There is nothing to confirm under this id. Reload the page.")
    bound_rows = Workspace.objects.filter(copies_id=jp_id).exclude(pk=workspace_row.pk)
    owned_memberships = Membership.objects.filter(
        person=person, role=Role.OWNER, workspace__in=bound_rows
    )
    if owned_memberships.count() < bound_rows.count():
        raise StoreError(
            "These copies also belong to another workspace. Ask someone who owns both to confirm "
            "them, or delete .jp/.id here: jp then makes a new id."
        )
    Workspace.objects.filter(pk=workspace_row.pk).update(copies_id=jp_id)
    details = {"setting": "user_local_copies", "value": jp_id}
    record_act(Act.SETTING_CHANGED, Actor.from_person(person), Place(workspace_row.pk), **details)

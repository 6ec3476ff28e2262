"""Which workspace's user-local copies are whose: silos bound to the root that was first seen.

A silo is found by the id in ``.jp/.id``, which whoever writes into a workspace can copy from
another's. So a row remembers the id that was bound to its root; under any other id its silo does
not count until an owner confirms it.
"""

from __future__ import annotations

from pathlib import Path

from jpweb.store.disk import silo, workspace
from jpweb.store.disk.workspace import FoundWorkspace
from jpweb.store.errors import NoWorkspace, StoreError
from jpweb.store.models import Membership, Workspace
from jpweb.store.terms import Role


def find(home: Workspace) -> FoundWorkspace:
    """Find a workspace on disk, with the silo that is bound to it. Raises NoWorkspace."""
    root = Path(home.root)
    if not root.is_absolute():
        raise NoWorkspace("The demo is part of jpweb and has no folder of its own.")
    return workspace.find(root, home.copies_id)


def find_writable(home: Workspace) -> FoundWorkspace:
    """As ``find``. Raises StoreError where the silo that jp would write into is not bound."""
    found = find(home)
    if found.claimed is not None:
        raise StoreError(f"{describe(found)} Nothing was written.")
    return found


def can_bind(found: FoundWorkspace) -> bool:
    """Tell whether a root that is seen for the first time may have the silo of its id."""
    known = Workspace.objects.filter(jp_id=found.jp_id) | Workspace.objects.filter(
        copies_id=found.jp_id
    )
    if known.exclude(root=str(found.root)).exists():
        return False
    return found.claimed is None or not silo.belongs_elsewhere(found.claimed, found.root)


def describe(found: FoundWorkspace) -> str:
    """Return one line on the silo that is not read, and what to do; empty where there is none."""
    if found.claimed is None:
        return ""
    return (
        f"The user-local copies in {found.claimed} are not read: the id {found.jp_id} is not "
        "confirmed for this folder. An owner can confirm it on the page “People”."
    )


def find_claimed(home: Workspace) -> FoundWorkspace | None:
    """Return a workspace on disk where its silo waits to be confirmed."""
    try:
        found = find(home)
    except NoWorkspace:
        return None
    return found if found.claimed is not None else None


def confirm(home: Workspace, person_id: int, jp_id: str) -> None:
    """Bind the silo of the id that a person saw to a workspace.

    Raises StoreError where the id is another one now, or where the person does not own every
    workspace that the silo is bound to.
    """
    found = find(home)
    if found.claimed is None or found.jp_id != jp_id:
        raise StoreError("There is nothing to confirm under this id. Reload the page.")
    bound = Workspace.objects.filter(copies_id=jp_id).exclude(pk=home.pk)
    owned = Membership.objects.filter(person_id=person_id, role=Role.OWNER, workspace__in=bound)
    if owned.count() < bound.count():
        raise StoreError(
            "These copies also belong to another workspace. Ask someone who owns both to confirm "
            "them, or delete .jp/.id here: jp then makes a new id."
        )
    Workspace.objects.filter(pk=home.pk).update(copies_id=jp_id)

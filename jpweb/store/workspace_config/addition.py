"""Addition of a workspace by its folder on this server, which a person enters on a page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db import transaction

from jpweb import installation
from jpweb.store import accounts
from jpweb.store.choices import Act
from jpweb.store.errors import InvalidName, NoWorkspace, StoreError
from jpweb.store.jp_files import directory_handles, mirror, pass_progress, silo_bindings, workspace
from jpweb.store.jp_files.workspace import DiskWorkspace
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import Person, Workspace
from jpweb.store.people import names

#: Bytes of a path at most: Linux's PATH_MAX, and the column of the root.
_MAX_PATH_BYTES = 4096


class Candidate(NamedTuple):
    """A workspace on disk that can be added."""

    disk_workspace: DiskWorkspace
    name: str
    conversation_count: int


def inspect_folder(text: str, name: str = "") -> Candidate:
    """Return the workspace whose root is the folder ``text``; the folder's name is the default.

    Raises StoreError with a sentence that names the folder and the next step. A path outside of
    ``WORKSPACE_ROOTS`` is refused before the disk is read.
    """
    root = _parse_path(text)
    _check_allowed(root)
    _check_directory(root)
    disk_workspace = _find_at(root)
    existing_row = mirror.find_row(disk_workspace)
    if existing_row is not None:
        raise StoreError(f"“{root}” is already here, as “{existing_row.name}”.")
    name = name.strip() or root.name or str(root)
    try:
        name = names.check_name(name)
        names.check_unlike(name, Workspace.objects.values_list("name", flat=True))
    except InvalidName as error:
        raise StoreError(
            f"“{ascii(name)[1:-1]}” cannot be the workspace's name. {error} Enter another name."
        ) from error
    conversation_count = sum(1 for _ in workspace.iterate_conversations(disk_workspace))
    return Candidate(disk_workspace, name, conversation_count)


@transaction.atomic
def add_workspace(person: Person, text: str, name: str) -> Workspace:
    """Add the workspace of a folder, and make the person its owner. Raises StoreError.

    A mirror pass of ``runtime/periodic/watch_workspaces.py`` reads its files.
    """
    candidate = inspect_folder(text, name)
    workspace_row, is_new = mirror.register_workspace(candidate.disk_workspace, candidate.name)
    if not is_new:
        raise StoreError(f"“{candidate.disk_workspace.root}” was added meanwhile.")
    actor = Actor.from_person(person)
    place = Place(workspace_row.pk, subject=f"workspace:{workspace_row.pk}")
    details = {"name": workspace_row.name, "folder": workspace_row.root}
    record_act(Act.WORKSPACE_ADDED, actor, place, **details)
    accounts.make_owner(person, workspace_row, actor)
    if candidate.conversation_count:
        pass_progress.record_expected(workspace_row.pk, candidate.conversation_count)
    return workspace_row


def _parse_path(text: str) -> Path:
    text = text.strip()
    if not text:
        raise StoreError("Enter the path of a folder on the server, such as /srv/garden.")
    if not text.isprintable() or len(text.encode(errors="replace")) > _MAX_PATH_BYTES:
        raise StoreError("This is not a path: it is too long, or has characters that don't print.")
    path = Path(text)
    if not path.is_absolute():
        raise StoreError(f"“{text}” is relative. Enter the whole path, from “/” on.")
    if ".." in path.parts:
        raise StoreError(f"“{text}” has “..” in it. Enter the whole path without that.")
    return Path(os.path.normpath(path))


def _check_allowed(root: Path) -> None:
    allowed_roots: tuple[Path, ...] = settings.WORKSPACE_ROOTS
    if not allowed_roots:
        raise StoreError(
            "Folders can't be added on this page. The operator of this server can allow it with "
            "the setting JPWEB_WORKSPACE_ROOTS."
        )
    if not any(root.is_relative_to(allowed_root) for allowed_root in allowed_roots):
        raise StoreError(
            f"“{root}” is outside of the folders that may be added: "
            f"{', '.join(map(str, allowed_roots))}. The operator can allow others with the setting "
            "JPWEB_WORKSPACE_ROOTS."
        )
    if root.is_relative_to(settings.DATA_DIR):
        raise StoreError(f"“{root}” is inside jpweb's data folder. Choose a folder outside of it.")


def _check_directory(root: Path) -> None:
    """Raise StoreError unless the root is a readable folder whose path has no link."""
    try:
        resolved_root = installation.resolve_path(root)
        if resolved_root != root:
            raise StoreError(f"“{root}” is a link to “{resolved_root}”. Enter that path instead.")
        if not root.exists():
            raise StoreError(f"“{root}” does not exist on the server. Check how it is spelled.")
        if not directory_handles.is_directory(root):
            raise StoreError(f"“{root}” is not a folder. Enter the folder that holds “.jp”.")
    except OSError as error:
        raise StoreError(f"“{root}” cannot be opened: {error.strerror}.") from error
    if not os.access(root, os.R_OK | os.X_OK):
        raise StoreError(f"jpweb may not read “{root}”. Let the account that runs it read there.")


def _find_at(root: Path) -> DiskWorkspace:
    try:
        disk_workspace = workspace.find_workspace(root)
        if silo_bindings.can_bind(disk_workspace):
            disk_workspace = workspace.find_workspace(root, disk_workspace.jp_id)
    except NoWorkspace as error:
        raise StoreError(
            f"“{root}” is not a JP workspace: it holds no “.jp” that can be read. Enter a folder "
            "where jp has been used."
        ) from error
    if disk_workspace.root != root:
        raise StoreError(
            f"“{root}” holds no “.jp”: it belongs to the workspace “{disk_workspace.root}”. "
            "Enter that path."
        )
    return disk_workspace

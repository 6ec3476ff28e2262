"""The user-local silo: a second copy of a workspace's conversations.

This module only locates and reads it. JP merges and repairs a silo when it opens one; a
reader must not (docs/jp-format.md, Workspace and silo, Two copies).
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

from jpweb.installation import find_user_data_dir, resolve_path
from jpweb.store.errors import StoreError
from jpweb.store.jp_files import directory_handles
from jpweb.store.jp_files.directory_handles import Directory

logger = logging.getLogger(__name__)

#: jp's approvals of targets outside the workspace, and the bytes of it that are read.
APPROVALS_FILE, MAX_APPROVALS_BYTES = "approvals.json", 1_000_000


def get_user_data_dir() -> Path:
    """Return JP's folder for this user's data, which need not exist."""
    configured_folder = os.environ.get("JP_USER_DATA_DIR", "")
    if configured_folder:
        return Path(configured_folder)
    return find_user_data_dir("jp")


def find_silo(root: Path, jp_id: str) -> Path | None:
    """Return the silo of the workspace with this id, or None.

    Several candidates: the one named after the root folder wins, else the one whose direct
    entries changed last. There is none for an account that may not read the user's data, such as
    one without a home of its own. Raises other OSErrors: the user's data may hold one.
    """
    try:
        silos_folder = resolve_path(get_user_data_dir().absolute() / "workspace")
        entries = directory_handles.list_entries(silos_folder)
    except (FileNotFoundError, PermissionError):
        return None
    candidates = [
        silos_folder / entry.name
        for entry in entries
        if (entry.name == jp_id or entry.name.endswith(f"-{jp_id}"))
        and entry.is_dir(follow_symlinks=False)
    ]
    by_name = [folder for folder in candidates if folder.name == f"{root.name}-{jp_id}"]
    return max(by_name or candidates, key=_find_newest_change, default=None)


def is_linked_elsewhere(silo: Path, root: Path) -> bool:
    """Tell whether jp last used the silo with another root: its link ``storage`` says which."""
    try:
        with Directory.open_at(silo) as silo_directory:
            storage = silo_directory.read_link("storage")
        return storage is not None and resolve_path(Path(storage).parent) != root
    except OSError:
        return False


def read_approved_targets(silo: Path | None) -> dict[str, str]:
    """Return the targets outside the workspace that jp's user approved, by the path of their rule.

    Without a silo, a readable file or a well-formed entry there is none (docs/jp-format.md,
    Approved targets).
    """
    if silo is None:
        return {}
    try:
        content = json.loads(
            directory_handles.read_file(silo / APPROVALS_FILE, MAX_APPROVALS_BYTES)
        )
        mounts = [(mount["rule_path"], mount["canonical_target"]) for mount in content["mounts"]]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError, StoreError) as error:
        logger.warning("Approvals in %s cannot be read and do not count: %s", silo, error)
        return {}
    return {path: target for path, target in mounts if isinstance(path, str)}


def _find_newest_change(folder: Path) -> tuple[int, str]:
    try:
        with Directory.open_at(folder) as folder_directory:
            statuses = [
                folder_directory.stat(entry.name) for entry in folder_directory.list_entries()
            ]
    except OSError:
        statuses = []
    return max((status.st_mtime_ns for status in statuses if status), default=0), str(folder)

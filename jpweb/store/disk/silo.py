"""The user-local silo: a second copy of a workspace's conversations (jp-storage-format, 1 and 3).

It is located and read. JP merges and repairs silos whenever it opens one; a reader must not.
"""

from __future__ import annotations

import os
from pathlib import Path

from jpweb.installation import find_user_data_dir


def user_data() -> Path:
    """Return JP's folder for the data of this user, whether it exists or not."""
    own = os.environ.get("JP_USER_DATA_DIR", "")
    if own:
        return Path(own)
    return find_user_data_dir("jp")


def find(root: Path, jp_id: str) -> Path | None:
    """Return the silo of the workspace with this id, or None.

    Several candidates: the one named after the root folder wins, else the one whose direct
    entries changed last.
    """
    try:
        folders = sorted((user_data() / "workspace").iterdir())
    except OSError:
        return None
    candidates = [
        folder
        for folder in folders
        if (folder.name == jp_id or folder.name.endswith(f"-{jp_id}")) and folder.is_dir()
    ]
    named = [folder for folder in candidates if folder.name == f"{root.name}-{jp_id}"]
    return max(named or candidates, key=_newest, default=None)


def _newest(folder: Path) -> tuple[int, str]:
    try:
        changed = max((entry.stat().st_mtime_ns for entry in folder.iterdir()), default=0)
    except OSError:
        changed = 0
    return changed, str(folder)

"""The user-local silo: a second copy of a workspace's conversations (jp-storage-format, 1 and 3).

It is located and read. JP merges and repairs silos whenever it opens one; a reader must not.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def user_data() -> Path:
    """Return JP's folder for the data of this user, whether it exists or not."""
    own = os.environ.get("JP_USER_DATA_DIR", "")
    if own:
        return Path(own)
    shared = os.environ.get("XDG_DATA_HOME", "")
    if shared and Path(shared).is_absolute():
        return Path(shared) / "jp"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "jp"
    return Path.home() / ".local" / "share" / "jp"


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

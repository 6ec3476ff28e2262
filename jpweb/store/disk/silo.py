"""The user-local silo: a second copy of a workspace's conversations (jp-storage-format, 1 and 3).

It is located and read. JP merges and repairs silos whenever it opens one; a reader must not.
"""

from __future__ import annotations

import os
from pathlib import Path

from jpweb.installation import find_user_data_dir
from jpweb.store.disk import directory
from jpweb.store.disk.directory import Directory


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
        home = directory.resolve(user_data().absolute() / "workspace")
        entries = directory.list_entries(home)
    except OSError:
        return None
    candidates = [
        home / entry.name
        for entry in entries
        if (entry.name == jp_id or entry.name.endswith(f"-{jp_id}"))
        and entry.is_dir(follow_symlinks=False)
    ]
    named = [folder for folder in candidates if folder.name == f"{root.name}-{jp_id}"]
    return max(named or candidates, key=_newest, default=None)


def belongs_elsewhere(silo: Path, root: Path) -> bool:
    """Tell whether jp last used the silo with another root: its link ``storage`` says which."""
    try:
        with Directory.at(silo) as place:
            storage = place.read_link("storage")
        return storage is not None and directory.resolve(Path(storage).parent) != root
    except OSError:
        return False


def _newest(folder: Path) -> tuple[int, str]:
    try:
        with Directory.at(folder) as place:
            seen = [place.stat(entry.name) for entry in place.list_entries()]
    except OSError:
        seen = []
    return max((each.st_mtime_ns for each in seen if each), default=0), str(folder)

"""What ``jp`` does to a conversation's files, as a process of its own that knows no jpweb.

``ACTION LOCK FOLDER...`` under JP's lock, with elements as JSON from its input: ``append`` them
to the stream in each folder, or ``rewrite`` it; or ``remove`` the folders. As JP writes: the whole
file beside the old one, and a rename (docs/jp-format.md, Writing, Locks).
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from tests.store.jp_files.writing import jp


def write(stream: Path, elements: list[object], *, keep: bool) -> None:
    old = json.loads(stream.read_text()) if keep else []
    aside = stream.with_name("events.json.tmp")
    aside.write_text(json.dumps([*old, *elements], indent=2, ensure_ascii=False) + "\n")
    aside.rename(stream)


def main(action: str, lock: Path, folders: list[Path]) -> None:
    elements = json.load(sys.stdin)
    handle = jp.acquire(lock)
    if handle is None:
        raise SystemExit(f"{lock} is held")
    for folder in folders:
        if action == "remove":
            shutil.rmtree(folder)
        else:
            write(folder / "events.json", elements, keep=action == "append")
    jp.release(lock, handle)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), [Path(folder) for folder in sys.argv[3:]])

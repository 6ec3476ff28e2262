"""Small and read-only disks: a tmpfs of one process, which a user namespace lets anybody mount."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

PIECE_BYTES = 4096


def mount_disk(folder: Path, *options: str) -> tuple[str, ...]:
    """Return the wrapper of a command that sees an empty disk in place of this folder."""
    mount = f"mount -t tmpfs -o {','.join(options)} tmpfs {folder}"
    return ("unshare", "--mount", "--map-root-user", "sh", "-c", f'{mount} && exec "$@"', "sh")


def see_disk(pid: int, folder: Path) -> Path:
    """Return the folder as a wrapped process sees it."""
    return Path(f"/proc/{pid}/root") / folder.relative_to("/")


def fill_disk(folder: Path) -> Path:
    """Write a file until there is no room left; return it."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"x" * PIECE_BYTES):
            pass
    return filler

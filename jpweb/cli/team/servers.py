"""How PostgreSQL and Redis are started, in folders of their own and never as root."""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jpweb.cli.team.programs import Missing

#: The account of Debian's package, and the database's own owner.
ACCOUNT = "postgres"


def initdb(programs: Path, data: Path) -> list[str]:
    """Return the command that makes a cluster in an empty folder; who can reach it may enter."""
    made = [str(programs / "initdb"), "-D", str(data), "-U", ACCOUNT, "-A", "trust"]
    return [*made, "-E", "UTF8", "--locale=C"]


def postgres(programs: Path, data: Path, sockets: Path, settings: Sequence[str] = ()) -> list[str]:
    """Return the command that serves a cluster at a socket in a folder.

    It listens on no port, unless ``settings`` (``name=value``) say so.
    """
    command = [str(programs / "postgres"), "-D", str(data), "-k", str(sockets)]
    for setting in ("listen_addresses=", *settings):
        command += ["-c", setting]
    return command


def redis(program: Path, *more: str) -> list[str]:
    """Return the command that serves a Redis which keeps nothing: signals need no past."""
    return [str(program), "--save", "", "--appendonly", "no", *more]


def account() -> dict[str, Any]:
    """Return what starts a process as somebody PostgreSQL runs as; as root that is not oneself.

    Raises Missing where there is nobody.
    """
    if os.geteuid() != 0:
        return {}
    _entry()
    return {"user": ACCOUNT, "group": ACCOUNT, "extra_groups": []}


def hand_over(folder: Path) -> None:
    """Give a folder to the account, when root."""
    if os.geteuid() == 0:
        shutil.chown(folder, ACCOUNT, ACCOUNT)


def cluster_folder(wanted: Path) -> Path:
    """Return the folder of a cluster that is kept at ``wanted``, made if need be.

    Root's folders are often closed to the account, so its cluster is in the account's home, and
    ``wanted`` leads there.
    """
    if os.geteuid() != 0:
        wanted.mkdir(mode=0o700, parents=True, exist_ok=True)
        return wanted
    name = hashlib.sha256(str(wanted).encode()).hexdigest()[:12]
    real = Path(_entry().pw_dir) / f"jpweb-{name}"
    real.mkdir(mode=0o700, exist_ok=True)
    hand_over(real)
    wanted.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not wanted.is_symlink():
        wanted.symlink_to(real)
    return real


def _entry() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(ACCOUNT)
    except KeyError:
        raise Missing(
            f"PostgreSQL does not run as root, and there is no account “{ACCOUNT}”: "
            "apt-get install postgresql"
        ) from None

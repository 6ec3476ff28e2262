"""Commands that start PostgreSQL and Redis, in folders of their own and never as root."""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jpweb.cli.local_cluster.binaries import MissingProgram

#: The system account of Debian's package, and the database superuser.
POSTGRES_ACCOUNT = "postgres"


def build_initdb_command(programs: Path, data: Path) -> list[str]:
    """Return the command that creates a cluster in an empty folder, with trust authentication."""
    command = [str(programs / "initdb"), "-D", str(data), "-U", POSTGRES_ACCOUNT, "-A", "trust"]
    return [*command, "-E", "UTF8", "--locale=C"]


def build_postgres_command(
    programs: Path, data: Path, sockets: Path, settings: Sequence[str] = ()
) -> list[str]:
    """Return the command that serves a cluster at a socket in a folder.

    It listens on no port, unless ``settings`` (``name=value``) say so.
    """
    command = [str(programs / "postgres"), "-D", str(data), "-k", str(sockets)]
    for setting in ("listen_addresses=", *settings):
        command += ["-c", setting]
    return command


def build_redis_command(program: Path, *arguments: str) -> list[str]:
    """Return the command that starts a Redis without persistence."""
    return [str(program), "--save", "", "--appendonly", "no", *arguments]


def get_account_options() -> dict[str, Any]:
    """Return the subprocess arguments that select PostgreSQL's account; empty unless root.

    Raises MissingProgram where the account does not exist.
    """
    if os.geteuid() != 0:
        return {}
    _get_account_entry()
    return {"user": POSTGRES_ACCOUNT, "group": POSTGRES_ACCOUNT, "extra_groups": []}


def give_to_account(folder: Path) -> None:
    """Change the owner of a folder to the account, when root."""
    if os.geteuid() == 0:
        shutil.chown(folder, POSTGRES_ACCOUNT, POSTGRES_ACCOUNT)


def prepare_cluster_folder(folder: Path) -> Path:
    """Return the data folder of a cluster at ``folder``, created where it is missing.

    The account often cannot enter root's folders, so root's cluster is in the account's home, and
    ``folder`` links there. Without that link the cluster is a new one: an earlier one of the same
    path belongs to a data folder that was deleted.
    """
    if os.geteuid() != 0:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder
    if not folder.is_symlink():
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        home = _get_account_entry().pw_dir
        folder.symlink_to(tempfile.mkdtemp(prefix="jpweb-", dir=home))
    account_folder = folder.readlink()
    account_folder.mkdir(mode=0o700, exist_ok=True)
    give_to_account(account_folder)
    return account_folder


def _get_account_entry() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(POSTGRES_ACCOUNT)
    except KeyError:
        raise MissingProgram(
            f"PostgreSQL does not run as root, and there is no account “{POSTGRES_ACCOUNT}”: "
            "apt-get install postgresql"
        ) from None

"""Names of this installation and of this process."""

from __future__ import annotations

import os
import secrets
import socket

from django.conf import settings


def get_installation_name() -> str:
    """Return the installation's name: host and data folder.

    One embedded server at a time has it, because that server locks the data folder.
    """
    return f"{socket.gethostname()}:{settings.DATA_DIR}"[:100]


#: Random, because a restarted process may get the same pid.
_PROCESS_SUFFIX = f"{os.getpid()}-{secrets.token_hex(4)}"


def get_process_suffix() -> str:
    """Return the end of this process's name, which no other process has: at most 20 characters."""
    return _PROCESS_SUFFIX


def get_process_name() -> str:
    """Return the name of this process; it starts with the installation's."""
    return f"{get_installation_name()}#{_PROCESS_SUFFIX}"

"""The name of this process among all that work on one database."""

from __future__ import annotations

import os
import secrets
import socket

from django.conf import settings


def installation() -> str:
    """Return the name of this data folder on this machine; one embedded server has it at a time."""
    return f"{socket.gethostname()}:{settings.DATA_DIR}"[:100]


#: Made once; a process that is started again has another.
_OWN = f"{os.getpid()}-{secrets.token_hex(4)}"


def name() -> str:
    """Return the name of this process; it begins with that of its installation."""
    return f"{installation()}#{_OWN}"

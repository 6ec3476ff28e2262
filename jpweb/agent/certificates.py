"""The certificates by which HTTPS servers of vendors and tools are checked."""

from __future__ import annotations

import ssl
from functools import cache

import httpx2


@cache
def load_certificates() -> ssl.SSLContext:
    """Return the certificates that this machine trusts; they are read once a process.

    Reading them takes 35 ms of processor time and blocks; each model request did so.
    """
    return httpx2.create_ssl_context()

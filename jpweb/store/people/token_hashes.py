"""Hashes of tokens: the database has them alone, so a copy of it signs nobody in."""

from __future__ import annotations

import hashlib


def hash_token(token: str) -> str:
    """Return a token's hash. Unpaired surrogates count as question marks: no token has any."""
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()

"""Keyed hashes of redacted elements: a plain hash of a short secret could be guessed."""

from __future__ import annotations

import hashlib
import hmac
import secrets

_KEY_BYTES = 32


def make_key() -> str:
    """Return a random key, in hexadecimal digits."""
    return secrets.token_hex(_KEY_BYTES)


def compute_digest(key: str, text: str) -> str:
    """Return the HMAC-SHA-256 of an element's text, in hexadecimal digits."""
    data = text.encode("utf-8", "surrogatepass")
    return hmac.new(bytes.fromhex(key), data, hashlib.sha256).hexdigest()


def derive_text_key(key: str) -> str:
    """Return the key of the new text's digest, which can be shown: it does not reveal ``key``."""
    return compute_digest(key, "new text")

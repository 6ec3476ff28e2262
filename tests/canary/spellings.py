"""How a secret stands in what jpweb keeps: as it is, or as the encodings of a stream write it."""

from __future__ import annotations

import base64

__all__ = ["has_secret", "list_spellings"]


def has_secret(text: str, secret: str) -> bool:
    """Tell whether a text holds a secret in any of its spellings."""
    return any(spelling in text for spelling in list_spellings(secret))


def list_spellings(secret: str) -> list[str]:
    """Return a secret as it is, in hexadecimal, and in base64 wherever a longer text has it."""
    plain = secret.encode()
    return [secret, plain.hex(), *(_encode_within(plain, offset) for offset in range(3))]


def _encode_within(plain: bytes, offset: int) -> str:
    """Return the characters of base64 that depend on these bytes alone, after so many others."""
    first_whole = (8 * offset + 5) // 6
    last_whole = 8 * (offset + len(plain)) // 6
    return base64.b64encode(bytes(offset) + plain)[first_whole:last_whole].decode()

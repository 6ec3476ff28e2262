"""The installation's signing key (Ed25519), and signed heads.

The key is derived from the secret key of the installation, so all servers of a team have it. An
administrator can derive it too: a head proves something to those who kept it elsewhere.
"""

from __future__ import annotations

from datetime import UTC
from functools import lru_cache
from typing import Any, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from jpweb.evidence import ledger_verifier, merkle_tree
from jpweb.store.models import LedgerHead

_KEY_PURPOSE = b"jpweb ledger signing key 1"


class HeadSignature(NamedTuple):
    """A signature and the public key that verifies it, in hexadecimal digits."""

    public_key: str
    signature: str


def sign_head(head: LedgerHead) -> HeadSignature:
    """Return the signature of a head by this installation's key."""
    return sign_value(_make_head(head))


def sign_value(value: dict[str, Any]) -> HeadSignature:
    """Return the signature of a JSON object, as canonical JSON, by this installation's key."""
    key = _derive_key(settings.SECRET_KEY)
    message = ledger_verifier.encode_canonical(value)
    return HeadSignature(
        key.public_key().public_bytes_raw().hex(), key.sign(message.encode()).hex()
    )


def is_head_intact(head: LedgerHead) -> bool:
    """Tell whether a head is as its key signed it, or that of a ledger that has no entry yet."""
    if head.signed_at is None:
        return (head.sequence, head.chain_hash) == (0, ledger_verifier.GENESIS_HASH)
    message = ledger_verifier.encode_canonical(_make_head(head)).encode()
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(head.public_key))
        key.verify(bytes.fromhex(head.signature), message)
    except (InvalidSignature, ValueError):
        return False
    return True


def has_own_key(head: LedgerHead) -> bool:
    """Tell whether a head names this installation's key, or is not signed yet."""
    return head.public_key in ("", get_public_key())


def get_public_key() -> str:
    """Return this installation's public key, in hexadecimal digits."""
    return _derive_key(settings.SECRET_KEY).public_key().public_bytes_raw().hex()


def make_statement(head: LedgerHead) -> dict[str, Any]:
    """Return a signed head as JSON, the first line of a ledger file.

    The keys are format, head, public_key and signature. Raises ValueError for an unsigned head.
    """
    if head.signed_at is None:
        raise ValueError("The head of an empty ledger is not signed.")
    return {
        "format": ledger_verifier.FORMAT,
        "head": _make_head(head),
        "public_key": head.public_key,
        "signature": head.signature,
    }


def derive_key_bytes(secret_key: str, purpose: bytes) -> bytes:
    """Return the key of a purpose, 32 bytes that are derived from the secret key."""
    hkdf = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose)
    return hkdf.derive(secret_key.encode())


def _make_head(head: LedgerHead) -> dict[str, Any]:
    """Return the signed part of a head; one that an earlier jpweb signed has no tree."""
    signed_at = head.signed_at.astimezone(UTC).isoformat() if head.signed_at else ""
    content = {
        "sequence": head.sequence,
        "chain_hash": head.chain_hash,
        "tree_hash": merkle_tree.fold_frontier(head.frontier) if head.frontier else "",
        "signed_at": signed_at,
    }
    return {name: value for name, value in content.items() if value != ""}


@lru_cache(maxsize=1)
def _derive_key(secret_key: str) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(derive_key_bytes(secret_key, _KEY_PURPOSE))

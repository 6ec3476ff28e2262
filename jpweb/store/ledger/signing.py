"""The installation's signing key (Ed25519), and signed heads.

The key is derived from the secret key of the installation, so all servers of a team have it. An
administrator can derive it too: a head proves something to those who kept it elsewhere.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from jpweb.evidence import ledger_verifier
from jpweb.store.models import LedgerHead

_KEY_PURPOSE = b"jpweb ledger signing key 1"


class HeadSignature(NamedTuple):
    """A signature and the public key that verifies it, in hexadecimal digits."""

    public_key: str
    signature: str


def sign_head(sequence: int, chain_hash: str, signed_at: datetime) -> HeadSignature:
    """Return the signature of a head by this installation's key."""
    key = _derive_key(settings.SECRET_KEY)
    message = ledger_verifier.encode_canonical(_make_head(sequence, chain_hash, signed_at))
    return HeadSignature(
        key.public_key().public_bytes_raw().hex(), key.sign(message.encode()).hex()
    )


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
        "head": _make_head(head.sequence, head.chain_hash, head.signed_at),
        "public_key": head.public_key,
        "signature": head.signature,
    }


def _make_head(sequence: int, chain_hash: str, signed_at: datetime) -> dict[str, Any]:
    return {
        "sequence": sequence,
        "chain_hash": chain_hash,
        "signed_at": signed_at.astimezone(UTC).isoformat(),
    }


@lru_cache(maxsize=1)
def _derive_key(secret_key: str) -> Ed25519PrivateKey:
    hkdf = HKDF(algorithm=SHA256(), length=32, salt=None, info=_KEY_PURPOSE)
    return Ed25519PrivateKey.from_private_bytes(hkdf.derive(secret_key.encode()))

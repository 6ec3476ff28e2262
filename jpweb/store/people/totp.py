"""Codes of authenticator apps (TOTP, RFC 6238), and their secrets, which are sealed at rest.

The key that seals is derived from the installation's secret key, which is in no database and no
backup. Whoever reads either has no secret.
"""

from __future__ import annotations

import base64
import hmac
import os
import re
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA1, SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from django.conf import settings

from jpweb.store.database import clock

STEP_SECONDS = 30
#: Steps before and after the current one whose codes count, for clocks that differ.
TOLERATED_STEPS = 1
_DIGITS = 6
_SECRET_BYTES = 20
_NONCE_BYTES = 12
_KEY_PURPOSE = b"jpweb second factor key 1"
_CODE = re.compile(rf"[0-9]{{{_DIGITS}}}")


def make_secret() -> bytes:
    return os.urandom(_SECRET_BYTES)


def seal_secret(secret: bytes, person_id: int) -> str:
    """Return a secret encrypted for a person's row; in another person's it cannot be opened."""
    nonce = os.urandom(_NONCE_BYTES)
    cipher = ChaCha20Poly1305(_derive_key(settings.SECRET_KEY))
    ciphertext = cipher.encrypt(nonce, secret, str(person_id).encode())
    return base64.b64encode(nonce + ciphertext).decode()


def open_secret(sealed_secret: str, person_id: int) -> bytes | None:
    """Return a sealed secret; None where it was sealed with another key or for another person."""
    data = base64.b64decode(sealed_secret)
    cipher = ChaCha20Poly1305(_derive_key(settings.SECRET_KEY))
    try:
        return cipher.decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], str(person_id).encode())
    except InvalidTag:
        return None


def find_step(secret: bytes, typed_code: str, last_step: int) -> int | None:
    """Return the time step of a code; None for a wrong one and one not after ``last_step``."""
    code = "".join(typed_code.split())
    if not _CODE.fullmatch(code):
        return None
    current_step = int(clock.get_timestamp()) // STEP_SECONDS
    steps = range(current_step - TOLERATED_STEPS, current_step + TOLERATED_STEPS + 1)
    matches = [step for step in steps if hmac.compare_digest(compute_code(secret, step), code)]
    return next((step for step in matches if step > last_step), None)


def compute_code(secret: bytes, step: int) -> str:
    """Return the code of a time step."""
    return _make_totp(secret).generate(step * STEP_SECONDS).decode()


def make_address(secret: bytes, account: str, issuer: str) -> str:
    """Return the ``otpauth`` address that apps read from a QR code."""
    return _make_totp(secret).get_provisioning_uri(account, issuer)


def format_secret(secret: bytes) -> str:
    """Return a secret as apps take it by hand: base32, in groups of four characters."""
    text = base64.b32encode(secret).decode()
    return " ".join(text[start : start + 4] for start in range(0, len(text), 4))


def _make_totp(secret: bytes) -> TOTP:
    return TOTP(secret, _DIGITS, SHA1(), STEP_SECONDS)  # noqa: S303  HMAC; apps know no other hash


@lru_cache(maxsize=1)
def _derive_key(secret_key: str) -> bytes:
    hkdf = HKDF(algorithm=SHA256(), length=32, salt=None, info=_KEY_PURPOSE)
    return hkdf.derive(secret_key.encode())

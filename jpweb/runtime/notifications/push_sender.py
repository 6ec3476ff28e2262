"""Web Push (RFC 8030): encrypts a message for one browser and hands it to its vendor's service.

The service gets the encrypted message (RFC 8291), the time it may keep it, and a signature by this
installation's VAPID key (RFC 8292). The key is derived from the secret key of the installation, so
all servers of a team have it.

The endpoint of a subscription is hostile input: https alone, no private address, no redirect, and
nothing of the reply but its status is read.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings
from django.views.decorators.debug import sensitive_variables
from py_vapid import Vapid02

from jpweb.runtime.notifications import allowed_destinations, sending_threads
from jpweb.store.database import clock

if TYPE_CHECKING:
    from jpweb.store.models import PushSubscription

#: Result of ``send_message`` where the service no longer knows the browser.
GONE_TEXT = "The browser has unsubscribed."
UNDELIVERED_TEXT = "The browser's push service is unreachable or rejected the message."
#: Contact of an installation without a public name: JP's project.
PROJECT_URL = "https://github.com/dcdpr/jp"
#: Reserved by RFC 2606, 6761 and 6762 and by ICANN, or usual in private networks.
_PRIVATE_TOP_DOMAINS = frozenset(
    {"corp", "example", "home", "internal", "invalid", "lan", "local", "localhost", "test"}
)
#: Seconds for which the service keeps a message for a browser that is offline.
KEPT_SECONDS = 6 * 3600
#: Seconds for which a signature is valid; services accept up to 24 hours.
SIGNATURE_SECONDS = 12 * 3600
#: Seconds for a connection, and for the reply.
SOCKET_TIMEOUT_SECONDS = 8.0
MAX_ENDPOINT_CHARS = 2_000
#: Bytes of a browser's authentication secret, and of an uncompressed point.
_SECRET_BYTES, _POINT_BYTES = 16, 65
#: A message is padded to one length, which so tells nothing; services accept 4,096 bytes.
_MESSAGE_BYTES = 3_000
_GONE_STATUSES = frozenset({404, 410})
_ACCEPTED_STATUSES = range(200, 300)
_KEY_PURPOSE = b"jpweb web push key 1"
_P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


class InvalidSubscription(Exception):
    """A browser's subscription is refused; says why."""


def get_public_key() -> str:
    """Return this installation's public VAPID key as browsers take it: a point in base64url."""
    key = _derive_key(settings.SECRET_KEY).public_key()
    return _encode(key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))


def check_subscription(endpoint: str, public_key: str, auth_secret: str) -> None:
    """Validate the subscription that a browser sends. Raises InvalidSubscription."""
    _check_endpoint(endpoint)
    try:
        point, secret = _decode(public_key), _decode(auth_secret)
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError as error:
        raise InvalidSubscription("The browser sent an invalid key.") from error
    if len(point) != _POINT_BYTES or len(secret) != _SECRET_BYTES:
        raise InvalidSubscription("The browser sent an invalid key.")


@sensitive_variables()
async def send_message(subscription: PushSubscription, message: Mapping[str, Any]) -> str:
    """Send a message to a browser; return why it failed, GONE_TEXT included, or an empty text."""
    return await sending_threads.run_in_thread(
        ("subscription", subscription.pk), partial(_deliver_message, subscription, message)
    )


@sensitive_variables()
def _deliver_message(subscription: PushSubscription, message: Mapping[str, Any]) -> str:
    import requests  # noqa: PLC0415  loaded once it sends: 0.16 s of processor time at each start

    try:
        _check_endpoint(subscription.endpoint)
        headers = _make_headers(subscription.endpoint)
        body = _encrypt(subscription, message)
        with allowed_destinations.refuse_private_addresses(), requests.Session() as session:
            response = session.post(
                subscription.endpoint,
                data=body,
                headers=headers,
                timeout=SOCKET_TIMEOUT_SECONDS,
                allow_redirects=False,
                stream=True,  # the reply's body is not read
            )
            status = response.status_code
            response.close()
    except (InvalidSubscription, requests.RequestException):
        return UNDELIVERED_TEXT
    if status in _GONE_STATUSES:
        return GONE_TEXT
    return "" if status in _ACCEPTED_STATUSES else UNDELIVERED_TEXT


def _encrypt(subscription: PushSubscription, message: Mapping[str, Any]) -> bytes:
    content = json.dumps(message, ensure_ascii=False).encode().ljust(_MESSAGE_BYTES)
    encrypted_body: bytes = http_ece.encrypt(
        content,
        private_key=ec.generate_private_key(ec.SECP256R1()),
        dh=_decode(subscription.public_key),
        auth_secret=_decode(subscription.auth_secret),
        version="aes128gcm",
    )
    return encrypted_body


def _make_headers(endpoint: str) -> dict[str, str]:
    address = urlsplit(endpoint)
    claims = {
        "aud": f"https://{address.netloc}",
        "exp": int(clock.get_timestamp()) + SIGNATURE_SECONDS,
        "sub": _find_contact(),
    }
    # Its strict form takes no contact with a path.
    vapid = Vapid02(_derive_key(settings.SECRET_KEY), conf={"no-strict": True})
    signature: dict[str, str] = vapid.sign(claims)
    return signature | {
        "Content-Encoding": "aes128gcm",
        "Content-Type": "application/octet-stream",
        "TTL": str(KEPT_SECONDS),
        "Urgency": "high",
    }


def _find_contact() -> str:
    """Return whom the service may contact: this site, where it has https and a public name.

    Apple's service refuses messages that name a host without a dot or in a private domain.
    """
    site = urlsplit(settings.PUBLIC_URL)
    host = site.hostname or ""
    name, _, top_domain = host.rpartition(".")
    is_address = ":" in host or top_domain.isdigit()
    is_public = bool(name) and not is_address and top_domain not in _PRIVATE_TOP_DOMAINS
    return f"https://{host}" if site.scheme == "https" and is_public else PROJECT_URL


def _check_endpoint(endpoint: str) -> None:
    """Raise InvalidSubscription for an endpoint to which nothing may be sent."""
    try:
        address = urlsplit(endpoint)
        port, host = address.port, address.hostname or ""
    except ValueError as error:
        raise InvalidSubscription("The browser sent an invalid address.") from error
    is_plain = endpoint.isascii() and endpoint.isprintable() and " " not in endpoint
    if (
        not is_plain
        or len(endpoint) > MAX_ENDPOINT_CHARS
        or address.scheme != "https"
        or not host
        or "@" in address.netloc
        or port == 0
    ):
        raise InvalidSubscription("The browser sent an invalid address.")
    if allowed_destinations.is_refused_literal(host):
        raise InvalidSubscription("The browser's push service is in a private network.")


@lru_cache(maxsize=1)
def _derive_key(secret_key: str) -> ec.EllipticCurvePrivateKey:
    """Return the VAPID key: 16 bytes more than its order has make all keys equally likely."""
    hkdf = HKDF(algorithm=SHA256(), length=48, salt=None, info=_KEY_PURPOSE)
    number = int.from_bytes(hkdf.derive(secret_key.encode())) % (_P256_ORDER - 1) + 1
    return ec.derive_private_key(number, ec.SECP256R1())


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    """Decode base64url without padding. Raises ValueError."""
    return urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))

"""An authenticator in software, and a browser that passes its replies on."""

from __future__ import annotations

import json
import os
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from django.test import Client
from fido2.cose import ES256
from fido2.utils import sha256, websafe_decode, websafe_encode
from fido2.webauthn import (
    Aaguid,
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
)

HOST = "localhost:8000"
FLAG = AuthenticatorData.FLAG
VERIFIED = FLAG.UP | FLAG.UV


class Authenticator:
    """Holds one passkey. Its attributes can be set to what a hostile one would send."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.credential_id = os.urandom(32)
        self.origin, self.domain = f"http://{HOST}", "localhost"
        self.flags, self.counter = VERIFIED, 1
        self.handle = ""

    def create(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the reply of ``navigator.credentials.create``."""
        self.handle = options["user"]["id"]
        public_key = ES256.from_cryptography_key(  # type: ignore[no-untyped-call]  # fido2's
            self.key.public_key()
        )
        credential = AttestedCredentialData.create(Aaguid.NONE, self.credential_id, public_key)
        data = self._make_data(self.flags | FLAG.AT, credential)
        attestation = AttestationObject.create("none", data, {})
        return self._make_reply(
            {
                "clientDataJSON": websafe_encode(self._collect("webauthn.create", options)),
                "attestationObject": websafe_encode(attestation),
            }
        )

    def get(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the reply of ``navigator.credentials.get``."""
        client_data, data = self._collect("webauthn.get", options), self._make_data(self.flags)
        signature = self.key.sign(data + sha256(client_data), ec.ECDSA(SHA256()))
        return self._make_reply(
            {
                "clientDataJSON": websafe_encode(client_data),
                "authenticatorData": websafe_encode(data),
                "signature": websafe_encode(signature),
                "userHandle": self.handle,
            }
        )

    def _collect(self, kind: str, options: dict[str, Any]) -> bytes:
        challenge = websafe_decode(options["challenge"])
        return CollectedClientData.create(kind, challenge, self.origin)

    def _make_data(self, flags: FLAG, credential: bytes = b"") -> AuthenticatorData:
        domain_hash = sha256(self.domain.encode())
        data: AuthenticatorData = AuthenticatorData.create(
            domain_hash, flags, self.counter, credential
        )
        return data

    def _make_reply(self, response: dict[str, Any]) -> dict[str, Any]:
        name = websafe_encode(self.credential_id)
        return {"id": name, "rawId": name, "type": "public-key", "response": response}


def at_domain(client: Client) -> Client:
    """Have a client ask for the site by a name that passkeys can belong to."""
    client.defaults["HTTP_HOST"] = HOST
    return client


def add_passkey(client: Client, authenticator: Authenticator, name: str = "Phone") -> Any:
    """Add the authenticator's passkey as the person of the client; return the response."""
    options = client.post("/account/passkeys/options").json()
    reply = json.dumps(authenticator.create(options))
    authenticator.counter += 1
    return client.post("/account/passkeys/add", {"name": name, "credential": reply})


def sign_in(client: Client, authenticator: Authenticator, **fields: str) -> Any:
    """Sign in with the authenticator's passkey; return the response."""
    options = client.post("/sign-in/passkey/options").json()
    reply = json.dumps(authenticator.get(options))
    authenticator.counter += 1
    return client.post("/sign-in/passkey", {"credential": reply, **fields})

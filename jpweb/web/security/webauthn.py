"""WebAuthn: challenges for passkeys, and the verification of an authenticator's replies.

A challenge is bound to the session, counts once and for ``CHALLENGE_SECONDS``. The relying party is
the site under the address that the browser shows, which ``ALLOWED_HOSTS`` admits. Imported on the
first use, because fido2 takes 200 ms.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from django.contrib.sessions.backends.base import UpdateError
from django.http import HttpRequest
from fido2.server import Fido2Server
from fido2.webauthn import (
    AttestedCredentialData,
    AuthenticationResponse,
    PublicKeyCredentialDescriptor,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialType,
    PublicKeyCredentialUserEntity,
    RegistrationResponse,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from jpweb.store.database import clock
from jpweb.store.people import passkeys
from jpweb.store.people.passkeys import NewCredential
from jpweb.web.security import sign_in_page

if TYPE_CHECKING:
    from jpweb.store.models import Passkey, Person

CHALLENGE_SECONDS = 300
MAX_REPLY_CHARACTERS = 20_000
RELYING_PARTY_NAME = "jpweb"
#: Key in a session's data, of the challenge that it waits for.
_CHALLENGE_KEY = "passkey_challenge"
#: Errors that fido2 raises for a reply that breaks the protocol, or proves nothing.
_INVALID_REPLY = (
    *(ValueError, KeyError, TypeError, AttributeError, IndexError),  # JSON or CBOR of another shape
    *(AssertionError, NotImplementedError),  # no credential; an unknown kind of key
    *(RecursionError, struct.error),
)


class InvalidReply(Exception):
    """The authenticator's reply proves nothing, or its challenge is used or too old."""


class ProvenUse(NamedTuple):
    """A passkey whose authenticator signed the challenge, and its counter then."""

    passkey: Passkey
    sign_count: int


def begin_adding(request: HttpRequest, person: Person) -> dict[str, Any]:
    """Return the browser's options to make a passkey for a person."""
    handle = passkeys.choose_handle(person.pk)
    user = PublicKeyCredentialUserEntity(
        id=handle.encode(), name=person.username, display_name=person.display_name
    )
    options, state = _make_server(request).register_begin(
        user,
        credentials=[
            PublicKeyCredentialDescriptor(
                type=PublicKeyCredentialType.PUBLIC_KEY, id=_parse_credential(row).credential_id
            )
            for row in passkeys.list_passkeys(person.pk)
        ],
        resident_key_requirement=ResidentKeyRequirement.REQUIRED,
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    _keep_challenge(request, "add", state | {"handle": handle})
    return dict(options.public_key)


def finish_adding(request: HttpRequest, reply: str) -> NewCredential:
    """Return the credential that an authenticator made. Raises InvalidReply."""
    state = _take_challenge(request, "add")
    server = _make_server(request)
    try:
        response = RegistrationResponse.from_dict(_parse_reply(reply))
        authenticator_data = server.register_complete(state, response)
        credential = authenticator_data.credential_data
        algorithm = credential and credential.public_key[3]
    except _INVALID_REPLY as error:
        raise InvalidReply("unreadable or not proven") from error
    if credential is None or credential.credential_id != response.raw_id:
        raise InvalidReply("another credential")
    if algorithm not in {parameters.alg for parameters in server.allowed_algorithms}:
        raise InvalidReply("unknown algorithm")
    return NewCredential(
        credential.credential_id, bytes(credential), authenticator_data.counter, state["handle"]
    )


def begin_sign_in(request: HttpRequest) -> dict[str, Any]:
    """Return the browser's options to sign in with any passkey that it has for this site."""
    options, state = _make_server(request).authenticate_begin(
        user_verification=UserVerificationRequirement.REQUIRED
    )
    _keep_challenge(request, "sign in", state)
    return dict(options.public_key)


def finish_sign_in(request: HttpRequest, reply: str) -> ProvenUse:
    """Return the passkey that signed the challenge. Raises InvalidReply."""
    state = _take_challenge(request, "sign in")
    server = _make_server(request)
    try:
        response = AuthenticationResponse.from_dict(_parse_reply(reply))
        passkey = passkeys.find_passkey(response.raw_id)
        if passkey is None:
            raise InvalidReply("unknown passkey")
        server.authenticate_complete(state, [_parse_credential(passkey)], response)
    except _INVALID_REPLY as error:
        raise InvalidReply("unreadable or not proven") from error
    if response.response.user_handle != passkey.handle.encode():
        raise InvalidReply("another person's handle")
    return ProvenUse(passkey, response.response.authenticator_data.counter)


def _make_server(request: HttpRequest) -> Fido2Server:
    domain = sign_in_page.find_passkey_domain(request)
    if not domain:
        raise InvalidReply("no domain")
    party = PublicKeyCredentialRpEntity(name=RELYING_PARTY_NAME, id=domain)
    site = f"{request.scheme}://{request.get_host()}"
    server = Fido2Server(party, verify_origin=lambda origin: origin == site)
    server.timeout = CHALLENGE_SECONDS * 1000  # type: ignore[assignment]  # inferred from None
    return server


def _parse_credential(passkey: Passkey) -> AttestedCredentialData:
    return AttestedCredentialData(passkeys.read_credential(passkey))


def _parse_reply(reply: str) -> dict[str, Any]:
    if len(reply) > MAX_REPLY_CHARACTERS:
        raise InvalidReply("too long")
    value: dict[str, Any] = json.loads(reply)
    return value


def _keep_challenge(request: HttpRequest, purpose: str, state: dict[str, Any]) -> None:
    challenge = state | {"purpose": purpose, "made_at": clock.get_timestamp()}
    request.session[_CHALLENGE_KEY] = challenge


def _take_challenge(request: HttpRequest, purpose: str) -> dict[str, Any]:
    """Return the challenge of this session, once. Raises InvalidReply."""
    state: dict[str, Any] | None = request.session.pop(_CHALLENGE_KEY, None)
    if state is None or state["purpose"] != purpose:
        raise InvalidReply("no challenge")
    try:
        request.session.save()
    except UpdateError as error:  # the session has ended meanwhile
        raise InvalidReply("session ended") from error
    if clock.get_timestamp() - state["made_at"] > CHALLENGE_SECONDS:
        raise InvalidReply("challenge expired")
    return state

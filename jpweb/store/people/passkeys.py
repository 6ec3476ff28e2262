"""Passkeys: which of them signs whom in. WebAuthn itself is verified in the web layer."""

from __future__ import annotations

import base64
import hashlib
import secrets
from typing import NamedTuple

from django.db import transaction
from django.db.models import QuerySet

from jpweb.store import db_text
from jpweb.store.choices import Act
from jpweb.store.database import clock
from jpweb.store.errors import PasskeyRefused
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import Passkey, Person

MAX_NAME_CHARACTERS = 100
MAX_PASSKEYS_PER_PERSON = 20


class NewCredential(NamedTuple):
    """A credential as an authenticator made it; ``data`` is its AttestedCredentialData."""

    credential_id: bytes
    data: bytes
    sign_count: int
    handle: str


def list_passkeys(person_id: int) -> QuerySet[Passkey]:
    """Return the passkeys of a person, the first added first."""
    return Passkey.objects.filter(person_id=person_id).order_by("pk")


def choose_handle(person_id: int) -> str:
    """Return the WebAuthn user handle of a person: that of their passkeys, or a new one.

    It is random, so that it tells nothing, and differs between installations at one domain.
    """
    handles = list_passkeys(person_id).values_list("handle", flat=True)
    return handles.first() or secrets.token_urlsafe(32)


def find_passkey(credential_id: bytes) -> Passkey | None:
    """Return the passkey with its person; None for an unknown one and a deactivated person."""
    rows = Passkey.objects.select_related("person").filter(person__is_active=True)
    return rows.filter(credential_hash=_hash_id(credential_id)).first()


def read_credential(passkey: Passkey) -> bytes:
    """Return the AttestedCredentialData of a passkey."""
    return base64.b64decode(passkey.credential)


@transaction.atomic
def add_passkey(
    person: Person,
    credential: NewCredential,
    name: str,
    *,
    is_own: bool,
    maker_id: int | None = None,
) -> Passkey:
    """Let a passkey sign a person in. Raises PasskeyRefused.

    ``is_own`` tells whether no sign-in link of another person can have led to the session, and
    ``maker_id`` who made the link that did.
    """
    Person.objects.select_for_update().get(pk=person.pk)
    if list_passkeys(person.pk).count() >= MAX_PASSKEYS_PER_PERSON:
        raise PasskeyRefused(
            f"You have {MAX_PASSKEYS_PER_PERSON} passkeys. Remove one before you add another."
        )
    name = db_text.clean_text(name)[:MAX_NAME_CHARACTERS]
    passkey, is_new = Passkey.objects.get_or_create(
        credential_hash=_hash_id(credential.credential_id),
        defaults={
            "person": person,
            "handle": credential.handle,
            "name": name,
            "credential": base64.b64encode(credential.data).decode(),
            "sign_count": credential.sign_count,
            "is_own": is_own,
            "maker_id": maker_id,
        },
    )
    if not is_new:
        raise PasskeyRefused("This passkey was added before.")
    _record(Act.PASSKEY_ADDED, Actor.from_person(person), person.pk, name)
    return passkey


@transaction.atomic
def remove_passkey(person: Person, passkey_id: int, actor: Actor | None = None) -> str | None:
    """Remove a passkey of a person; returns its name, or None where there is none.

    ``actor`` is who does so, by default the person.
    """
    passkey = list_passkeys(person.pk).filter(pk=passkey_id).first()
    if passkey is None or not list_passkeys(person.pk).filter(pk=passkey.pk).delete()[0]:
        return None
    actor = actor or Actor.from_person(person)
    _record(Act.PASSKEY_REMOVED, actor, person.pk, passkey.name)
    return passkey.name


def end_passkey(passkey: Passkey, actor: Actor) -> bool:
    """Remove a passkey as a person's act; tells whether it was still there."""
    is_removed = bool(Passkey.objects.filter(pk=passkey.pk).delete()[0])
    if is_removed:
        _record(Act.PASSKEY_REMOVED, actor, passkey.person_id, passkey.name)
    return is_removed


def record_use(passkey: Passkey, sign_count: int) -> bool:
    """Note that a passkey signed in; False for a counter that did not grow: a copy was used.

    Authenticators that synchronise their passkeys count nothing and always send 0.
    """
    if sign_count <= passkey.sign_count and (sign_count or passkey.sign_count):
        return False
    # Compare-and-set: of two uses with one counter the second finds another value.
    rows = Passkey.objects.filter(pk=passkey.pk, sign_count=passkey.sign_count)
    return bool(rows.update(sign_count=sign_count, used_at=clock.now()))


def _hash_id(credential_id: bytes) -> str:
    return hashlib.sha256(credential_id).hexdigest()


def _record(act: Act, actor: Actor, person_id: int, name: str) -> None:
    record_act(act, actor, Place(subject=f"person:{person_id}"), passkey=name)

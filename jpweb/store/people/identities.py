"""Identities at OpenID Connect providers: which of them signs whom in.

Issuer and subject decide, not the e-mail address: providers give addresses to other people, and
owners of other workspaces choose names.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from jpweb.store.choices import Act
from jpweb.store.database import clock
from jpweb.store.errors import IdentityTaken
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import Identity, Passkey, Person
from jpweb.store.people import passkeys, second_factors


class ProvenIdentity(NamedTuple):
    """A provider's claims on the person at a browser; ``email`` is empty unless verified."""

    provider: str
    issuer: str
    subject: str
    email: str


class Credential(NamedTuple):
    """A passkey or an identity, by which its person signs in."""

    row: Passkey | Identity

    @property
    def key(self) -> str:
        """Its key in the data of sessions and in forms."""
        return f"{'passkey' if self.is_passkey else 'identity'}:{self.row.pk}"

    @property
    def is_passkey(self) -> bool:
        return isinstance(self.row, Passkey)

    @property
    def name(self) -> str:
        """Label on pages: the passkey's name, or the provider with the e-mail address."""
        if isinstance(self.row, Passkey):
            return self.row.name
        return ", ".join(filter(None, (name_issuer(self.row.issuer), self.row.email)))

    @property
    def added_at(self) -> datetime:
        return self.row.added_at if isinstance(self.row, Passkey) else self.row.connected_at


class Removal(NamedTuple):
    """The credentials removed from an account, as another person can have added them."""

    credentials: tuple[Credential, ...]
    is_factor_removed: bool


NO_REMOVAL = Removal((), is_factor_removed=False)


def name_issuer(issuer: str) -> str:
    """Return the name of the provider; its address where the settings no longer name it."""
    titles = {provider.url: provider.title for provider in settings.OIDC_PROVIDERS.values()}
    return titles.get(issuer, issuer)


def list_identities(person_id: int) -> QuerySet[Identity]:
    """Return the identities of a person, the first connected first."""
    return Identity.objects.filter(person_id=person_id).order_by("pk")


@transaction.atomic
def use_identity(proven_identity: ProvenIdentity) -> Identity | None:
    """Return the identity with its person, and note its use; None for an unknown one."""
    rows = Identity.objects.filter(issuer=proven_identity.issuer, subject=proven_identity.subject)
    identity = rows.select_related("person").first()
    if identity is not None:
        rows.update(used_at=clock.now(), email=proven_identity.email)
    return identity


@transaction.atomic
def connect_identity(
    person: Person, proven_identity: ProvenIdentity, *, is_own: bool, maker_id: int | None = None
) -> Identity:
    """Let an identity sign a person in. Raises IdentityTaken.

    ``is_own`` tells whether no sign-in link of another person can have led to the session, and
    ``maker_id`` who made the link that did.
    """
    identity, is_new = Identity.objects.get_or_create(
        issuer=proven_identity.issuer,
        subject=proven_identity.subject,
        defaults={
            "person": person,
            "email": proven_identity.email,
            "is_own": is_own,
            "maker_id": maker_id,
        },
    )
    if identity.person_id != person.pk:
        raise IdentityTaken(
            f"This identity at {proven_identity.provider} belongs to another account. "
            "Sign in with it, and disconnect it there first."
        )
    if is_new:
        _record(
            Act.IDENTITY_CONNECTED, Actor.from_person(person), person.pk, proven_identity.provider
        )
    elif is_own and not identity.is_own:
        Identity.objects.filter(pk=identity.pk).update(is_own=True, maker=None)
    return identity


@transaction.atomic
def disconnect_identity(
    person: Person, identity_id: int, provider: str, actor: Actor | None = None
) -> bool:
    """Remove an identity of a person; tells whether there was one. Sign-ins go on.

    ``actor`` is who does so, by default the person.
    """
    is_removed = bool(Identity.objects.filter(person=person, pk=identity_id).delete()[0])
    if is_removed:
        actor = actor or Actor.from_person(person)
        _record(Act.IDENTITY_DISCONNECTED, actor, person.pk, provider)
    return is_removed


def list_credentials(person_id: int) -> list[Credential]:
    """Return the passkeys of a person and then their identities; two queries."""
    rows: list[Passkey | Identity] = [
        *passkeys.list_passkeys(person_id),
        *list_identities(person_id),
    ]
    return [Credential(row) for row in rows]


def list_proven_emails(person_id: int, credential_keys: Collection[str]) -> set[str]:
    """Return the verified addresses of a person's own identities among these credentials."""
    prefix = "identity:"
    keys = [key.removeprefix(prefix) for key in credential_keys if key.startswith(prefix)]
    if not keys:
        return set()
    rows = list_identities(person_id).filter(pk__in=keys, is_own=True)
    return set(rows.exclude(email="").values_list("email", flat=True))


def remove_unproven(
    person_id: int, actor: Actor, kept_keys: Collection[str] | None = None
) -> Removal:
    """Remove how another person can have come into an account, or have kept its person out.

    Those are passkeys and identities as ``remove_credentials`` has it, and a second factor.
    """
    is_factor_removed = second_factors.remove_unproven(person_id, actor)
    credentials = remove_credentials(person_id, actor, kept_keys)
    return Removal(tuple(credentials), is_factor_removed)


def remove_credentials(
    person_id: int, actor: Actor, kept_keys: Collection[str] | None = None
) -> list[Credential]:
    """Remove and return the passkeys and identities that another person can have added.

    An owner who makes a sign-in link for somebody can add either to the account, and so can an
    inviter who takes the invitation. It would let them into each workspace that the person joins
    later. ``actor`` is who lets the person join. ``kept_keys`` are those that the person calls
    theirs: the others are removed as well. None is for where they are not asked.
    """
    removed_credentials = []
    for credential in list_credentials(person_id):
        is_kept = kept_keys is None or credential.key in kept_keys
        if not (credential.row.is_own and is_kept) and _remove(credential.row, actor):
            removed_credentials.append(credential)
    return removed_credentials


def _remove(row: Passkey | Identity, actor: Actor) -> bool:
    if isinstance(row, Passkey):
        return passkeys.end_passkey(row, actor)
    is_removed = bool(Identity.objects.filter(pk=row.pk).delete()[0])
    if is_removed:
        _record(Act.IDENTITY_DISCONNECTED, actor, row.person_id, name_issuer(row.issuer))
    return is_removed


def _record(act: Act, actor: Actor, person_id: int, provider: str) -> None:
    record_act(act, actor, Place(subject=f"person:{person_id}"), provider=provider)

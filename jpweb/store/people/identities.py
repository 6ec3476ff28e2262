"""Identities at OpenID Connect providers: which of them signs whom in.

Issuer and subject decide, not the e-mail address: providers give addresses to other people, and
owners of other workspaces choose names.
"""

from __future__ import annotations

from typing import NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from jpweb.store.choices import Act
from jpweb.store.database import clock
from jpweb.store.errors import IdentityTaken
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import Identity, Person
from jpweb.store.people import passkeys


class ProvenIdentity(NamedTuple):
    """What a provider says of the person at a browser; ``email`` is empty unless verified."""

    provider: str
    issuer: str
    subject: str
    email: str


def name_issuer(issuer: str) -> str:
    """Return what pages call the provider; its address where the settings no longer name it."""
    titles = {provider.url: provider.title for provider in settings.OIDC_PROVIDERS.values()}
    return titles.get(issuer, issuer)


def list_identities(person_id: int) -> QuerySet[Identity]:
    """Return the identities of a person, the first connected first."""
    return Identity.objects.filter(person_id=person_id).order_by("pk")


@transaction.atomic
def use_identity(proven: ProvenIdentity) -> Identity | None:
    """Return the identity with its person, and note its use; None for an unknown one."""
    rows = Identity.objects.filter(issuer=proven.issuer, subject=proven.subject)
    identity = rows.select_related("person").first()
    if identity is not None:
        rows.update(used_at=clock.now(), email=proven.email)
    return identity


@transaction.atomic
def connect_identity(
    person: Person, proven: ProvenIdentity, *, is_own: bool, maker_id: int | None = None
) -> Identity:
    """Let an identity sign a person in. Raises IdentityTaken.

    ``is_own`` tells whether no sign-in link of another person can have led to the session, and
    ``maker_id`` who made the link that did.
    """
    identity, is_new = Identity.objects.get_or_create(
        issuer=proven.issuer,
        subject=proven.subject,
        defaults={
            "person": person,
            "email": proven.email,
            "is_own": is_own,
            "maker_id": maker_id,
        },
    )
    if identity.person_id != person.pk:
        raise IdentityTaken(
            f"This identity at {proven.provider} belongs to another account. Sign in with it, and "
            "disconnect it there first."
        )
    if is_new:
        _record(Act.IDENTITY_CONNECTED, Actor.from_person(person), person.pk, proven.provider)
    elif is_own and not identity.is_own:
        Identity.objects.filter(pk=identity.pk).update(is_own=True, maker=None)
    return identity


@transaction.atomic
def disconnect_identity(person: Person, identity_id: int, provider: str) -> bool:
    """Remove an identity of a person; tells whether there was one. Sign-ins go on."""
    is_removed = bool(Identity.objects.filter(person=person, pk=identity_id).delete()[0])
    if is_removed:
        _record(Act.IDENTITY_DISCONNECTED, Actor.from_person(person), person.pk, provider)
    return is_removed


def remove_unproven(person_id: int, actor: Actor) -> None:
    """Remove the identities and passkeys of a person that another person can have added.

    An owner who makes a sign-in link for somebody can add either to the account. It would let the
    owner into each workspace that the person joins later. ``actor`` is who lets the person join.
    """
    for identity in list_identities(person_id).filter(is_own=False):
        if Identity.objects.filter(pk=identity.pk).delete()[0]:
            _record(Act.IDENTITY_DISCONNECTED, actor, person_id, name_issuer(identity.issuer))
    passkeys.remove_unproven(person_id, actor)


def _record(act: Act, actor: Actor, person_id: int, provider: str) -> None:
    record_act(act, actor, Place(subject=f"person:{person_id}"), provider=provider)

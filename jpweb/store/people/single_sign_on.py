"""Admission by single sign-on: people with a connected identity, and people who are invited."""

from __future__ import annotations

from django.db import transaction

from jpweb.store.models import Identity
from jpweb.store.people import identities, invitations
from jpweb.store.people.identities import ProvenIdentity


@transaction.atomic
def admit_person(proven_identity: ProvenIdentity) -> Identity | None:
    """Return the identity of the person who comes in; None for an unknown one. Raises NameTaken.

    An unknown person with a verified address gets an account where an open invitation has that
    address as its name. The invitation's owner chose it, and the provider proved who has it.
    """
    identity = identities.use_identity(proven_identity)
    if identity is not None:
        return identity if identity.person.is_active else None
    person = invitations.accept_by_email(proven_identity.email) if proven_identity.email else None
    return identities.connect_identity(person, proven_identity, is_own=True) if person else None

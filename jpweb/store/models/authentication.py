"""Models of passkeys, with which people sign in without a link."""

from __future__ import annotations

from django.db import models

from jpweb.store.database import clock
from jpweb.store.models.accounts import Person


class Passkey(models.Model):
    """A discoverable WebAuthn credential, which signs its person in. It holds no secret.

    ``handle`` is the WebAuthn user handle: random, the same for all passkeys of a person.
    ``is_own`` tells whether it was added in a session of the person's own, as for ``Identity``.
    """

    person = models.ForeignKey(Person, models.CASCADE, related_name="passkeys")
    handle = models.CharField(max_length=64)
    name = models.CharField(max_length=100)
    credential_hash = models.CharField(
        max_length=64, unique=True, help_text="SHA-256 of the credential's id"
    )
    credential = models.TextField(help_text="AttestedCredentialData in base64: id and public key")
    sign_count = models.BigIntegerField(help_text="of the last use; 0 where it counts none")
    is_own = models.BooleanField(default=False)
    added_at = models.DateTimeField(default=clock.now)
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"passkey of {self.person_id}"

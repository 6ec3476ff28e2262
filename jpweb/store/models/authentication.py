"""Models of passkeys, with which people sign in, and of second factors."""

from __future__ import annotations

from django.db import models

from jpweb.store.database import clock
from jpweb.store.models.accounts import Person


class Passkey(models.Model):
    """A discoverable WebAuthn credential, which signs its person in. It holds no secret.

    ``handle`` is the WebAuthn user handle: random, the same for all passkeys of a person.
    ``is_own`` tells whether it was added in a session of the person's own, and ``maker`` who made
    the link that led to the session, as for ``Identity``.
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
    maker = models.ForeignKey(Person, models.CASCADE, null=True, related_name="passkeys_led_to")
    added_at = models.DateTimeField(default=clock.now)
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"passkey of {self.person_id}"


class SecondFactor(models.Model):
    """An authenticator app (TOTP, RFC 6238), whose code a person's sign-in links also ask for.

    ``lock_count`` counts the locks since the last right code; each is longer than the one before.
    ``is_own`` tells whether it was set up in a session of the person's own, as for ``Identity``.
    """

    person = models.OneToOneField(Person, models.CASCADE, related_name="second_factor")
    sealed_secret = models.TextField(help_text="opened by the installation's secret key alone")
    confirmed_at = models.DateTimeField(null=True, help_text="null: not turned on yet")
    last_step = models.BigIntegerField(default=0, help_text="time step of the last accepted code")
    failure_count = models.PositiveSmallIntegerField(default=0)
    lock_count = models.PositiveSmallIntegerField(default=0)
    locked_until = models.DateTimeField(null=True)
    is_own = models.BooleanField(default=True, db_default=True)

    def __str__(self) -> str:
        return f"second factor of {self.person_id}"

    @property
    def is_locked(self) -> bool:
        return self.locked_until is not None and clock.now() < self.locked_until


class RecoveryCode(models.Model):
    """A code that works once in place of an app code. Only its hash is stored."""

    second_factor = models.ForeignKey(SecondFactor, models.CASCADE, related_name="recovery_codes")
    code_hash = models.CharField(max_length=64)
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"recovery code of {self.second_factor_id}"

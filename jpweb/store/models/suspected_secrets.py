"""Model of suspected secrets: where in the journal a detector found one."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from jpweb.store.choices import SuspectedSecretState
from jpweb.store.database import clock
from jpweb.store.models.accounts import Person, Workspace
from jpweb.store.models.conversations import Conversation


class SuspectedSecret(models.Model):
    """A part of an event that looks like a secret. No column holds the part itself.

    ``text_index`` counts the strings of the event's content, ``start`` and ``length`` are
    characters of that string. ``digest`` is keyed with the installation's key.
    """

    workspace = models.ForeignKey(
        Workspace, models.CASCADE, db_index=False, related_name="suspected_secrets"
    )
    conversation = models.ForeignKey(
        Conversation, models.CASCADE, db_index=False, related_name="suspected_secrets"
    )
    anchor = models.CharField(max_length=60)
    position = models.PositiveIntegerField(help_text="of its event, when it was found")
    kind = models.CharField(max_length=60)
    place = models.CharField(max_length=60, help_text="the field of the event")
    text_index = models.PositiveIntegerField()
    start = models.PositiveIntegerField()
    length = models.PositiveIntegerField()
    digest = models.CharField(max_length=64, help_text="HMAC-SHA-256 of the secret")
    state = models.CharField(
        max_length=10, choices=SuspectedSecretState.choices, default=SuspectedSecretState.OPEN
    )
    at = models.DateTimeField(default=clock.now)
    decided_at = models.DateTimeField(null=True)
    decided_by = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="+")
    note = models.CharField(max_length=500, blank=True, help_text="why it is no secret")
    needs_copies = models.BooleanField(
        default=True, help_text="copies in other tables are still to be masked"
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["conversation", "anchor", "text_index", "start"],
                name="one_suspected_secret_a_place",
            )
        ]
        indexes: ClassVar = [
            models.Index(fields=["workspace", "state", "-id"], name="suspected_secrets_by_state"),
            models.Index(fields=["workspace", "digest"], name="suspected_secrets_by_digest"),
            models.Index(
                fields=["id"],
                condition=models.Q(needs_copies=True),
                name="suspected_secrets_to_copy",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.conversation_id} {self.anchor}: {self.kind}"

    @property
    def marker(self) -> str:
        """The text that pages show instead; the same for each place of the same secret."""
        return f"[masked {self.kind}, {self.digest[:8]}]"

"""Model of redactions: which elements of the journal were replaced."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from jpweb.store.database import clock
from jpweb.store.models.accounts import Person
from jpweb.store.models.conversations import Conversation


class Redaction(models.Model):
    """One replacement of one journal entry. No column holds the replaced content.

    ``key`` is random and stays out of the ledger: with it alone can a short secret be guessed from
    the digests. ``text`` is that of the last redaction of an event; it is empty in earlier ones.
    """

    conversation = models.ForeignKey(
        Conversation, models.CASCADE, db_index=False, related_name="redactions"
    )
    anchor = models.CharField(max_length=60)
    person = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="redactions")
    reason = models.CharField(max_length=200)
    at = models.DateTimeField(default=clock.now)
    key = models.CharField(max_length=64)
    digest_before = models.CharField(max_length=64, help_text="HMAC-SHA-256 of what stood there")
    digest_after = models.CharField(max_length=64, help_text="HMAC-SHA-256 of what replaced it")
    text = models.TextField(blank=True, help_text="what replaced it")

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["conversation", "anchor", "id"], name="redactions_by_event")
        ]

    def __str__(self) -> str:
        return f"{self.conversation_id} {self.anchor} redacted"

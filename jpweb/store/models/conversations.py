"""Conversations and their journals."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from jpweb.store.models.people import Person, Workspace
from jpweb.store.terms import Origin


class Conversation(models.Model):
    """A conversation; its events are the journal entries."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="conversations")
    jp_id = models.BigIntegerField(help_text="JP's id: deciseconds since the epoch")
    origin = models.CharField(max_length=10, choices=Origin.choices)
    title = models.CharField(max_length=500, blank=True)
    last_activity = models.DateTimeField()
    pinned_at = models.DateTimeField(null=True)
    archived = models.BooleanField(default=False)
    expires_at = models.DateTimeField(null=True, help_text="when jp deletes it")
    gone_at = models.DateTimeField(null=True, help_text="when jp was seen to have removed it")
    labels = models.JSONField(default=dict)
    length = models.PositiveIntegerField(default=0, help_text="journal entries")
    revision = models.PositiveIntegerField(default=0, help_text="grows when entries are replaced")
    turns = models.PositiveIntegerField(default=0)
    problem = models.CharField(max_length=500, blank=True, help_text="why it cannot be read")
    framing = models.TextField(blank=True, help_text="what stands between the elements on disk")
    source = models.CharField(max_length=500, blank=True, help_text="its folder's name")
    fingerprint = models.CharField(max_length=200, blank=True, help_text="its files when last read")
    started_by = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="started")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["workspace", "jp_id"], name="one_conversation_an_id")
        ]
        indexes: ClassVar = [models.Index(fields=["-last_activity", "-id"])]

    def __str__(self) -> str:
        return self.title or f"jp-c{self.jp_id}"


class JournalEntry(models.Model):
    """One element of a conversation. ``text`` is its JSON as it came; the rest is derived."""

    TABLE = "store_journalentry"

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="journal")
    position = models.PositiveIntegerField()
    text = models.TextField()
    kind = models.CharField(max_length=100)
    anchor = models.CharField(max_length=60)

    class Meta:
        db_table = "store_journalentry"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["conversation", "position"], name="one_entry_a_position"
            )
        ]
        indexes: ClassVar = [models.Index(fields=["conversation", "anchor"])]

    def __str__(self) -> str:
        return f"{self.conversation_id}#{self.position} {self.kind}"

"""Models of conversations, their journals, turns and read marks."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from jpweb.store.choices import Origin
from jpweb.store.models.accounts import Person, Workspace

#: Of conversations with entries in which no secrets were looked for yet.
IS_UNSCANNED = models.Q(entry_count__gt=models.F("scanned_entry_count")) | ~models.Q(
    revision=models.F("scanned_revision")
)

#: Beginning of the problem of a mirrored conversation whose file has other content than a
#: redaction replaced.
CHANGED_REDACTIONS = "Redacted events have changed in jp's file, and stay redacted here"


class Conversation(models.Model):
    """A conversation; its events are the journal entries."""

    workspace = models.ForeignKey(
        Workspace, models.CASCADE, db_index=False, related_name="conversations"
    )
    jp_id = models.BigIntegerField(help_text="JP's id: deciseconds since the epoch")
    origin = models.CharField(max_length=10, choices=Origin.choices)
    title = models.CharField(max_length=500, blank=True)
    last_activity = models.DateTimeField()
    pinned_at = models.DateTimeField(null=True)
    archived = models.BooleanField(default=False)
    expires_at = models.DateTimeField(null=True, help_text="when jp deletes it")
    removed_at = models.DateTimeField(null=True, help_text="when jp was seen to have removed it")
    labels = models.JSONField(default=dict)
    entry_count = models.PositiveIntegerField(default=0, help_text="journal entries")
    revision = models.PositiveIntegerField(default=0, help_text="grows when entries are replaced")
    turns = models.PositiveIntegerField(default=0)
    problem = models.CharField(max_length=500, blank=True, help_text="why it cannot be read")
    framing = models.TextField(blank=True, help_text="what stands between the elements on disk")
    source = models.CharField(max_length=500, blank=True, help_text="its folder's name")
    fingerprint = models.CharField(max_length=200, blank=True, help_text="its files when last read")
    started_by = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="started")
    category_counts = models.JSONField(default=dict, help_text="journal entries by category")
    derived_version = models.PositiveSmallIntegerField(
        default=0, help_text="which version derived columns"
    )
    needs_indexing = models.BooleanField(default=True, help_text="search has yet to look at it")
    indexed_entry_count = models.PositiveIntegerField(
        default=0, help_text="entries that search knows"
    )
    indexed_revision = models.PositiveIntegerField(default=0, help_text="of which revision")
    scanned_entry_count = models.PositiveIntegerField(
        default=0, help_text="entries in which secrets were looked for"
    )
    scanned_revision = models.PositiveIntegerField(default=0, help_text="of which revision")
    comment_revision = models.PositiveIntegerField(
        default=0, db_default=0, help_text="counts the changes of its comments"
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["workspace", "jp_id"], name="one_conversation_an_id")
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["last_activity", "id"],
                condition=models.Q(needs_indexing=True),
                name="conversations_to_index",
            ),
            models.Index(
                fields=["last_activity", "id"],
                condition=IS_UNSCANNED,
                name="conversations_to_scan",
            ),
            models.Index(
                fields=["workspace", "archived", "last_activity", "id"],
                name="conversations_by_activity",
            ),
            models.Index(
                fields=["workspace", "origin", "archived", "last_activity", "id"],
                name="conversations_by_origin",
            ),
            models.Index(
                fields=["workspace", "archived", "entry_count", "id"],
                name="conversations_by_entry_count",
            ),
            models.Index(
                fields=["workspace", "archived", "pinned_at", "id"],
                condition=models.Q(pinned_at__isnull=False),
                name="conversations_pinned",
            ),
            models.Index(
                fields=["workspace", "archived", "last_activity", "id"],
                condition=~models.Q(problem=""),
                name="conversations_with_problems",
            ),
        ]

    def __str__(self) -> str:
        return self.title or f"jp-c{self.jp_id}"

    @property
    def version(self) -> str:
        """Identify the version of the conversation that a review saw."""
        # Hashing each event for a version would take seconds for a long conversation.
        return f"{self.revision}.{self.entry_count}"

    @property
    def has_changed_redactions(self) -> bool:
        return self.problem.startswith(CHANGED_REDACTIONS)


class MirrorPass(models.Model):
    """The last mirror pass over a workspace that took long, failed or was incomplete."""

    workspace = models.OneToOneField(
        Workspace, models.CASCADE, primary_key=True, related_name="mirror_pass"
    )
    is_running = models.BooleanField()
    beat_at = models.DateTimeField(help_text="the last heartbeat of the process that runs it")
    done_count = models.PositiveIntegerField(default=0, help_text="conversations")
    total_count = models.PositiveIntegerField(default=0, help_text="conversations")
    problem = models.CharField(max_length=500, blank=True, help_text="why it ended early")
    notes = models.TextField(blank=True, help_text="what it left out, a line each")

    def __str__(self) -> str:
        return f"{self.workspace}: {self.done_count} of {self.total_count}"


class JournalEntry(models.Model):
    """One element of a conversation. ``text`` is its JSON, unchanged; other columns are derived.

    ``item_position`` is the position of the first element of its transcript item.
    """

    TABLE = "store_journalentry"

    conversation = models.ForeignKey(
        Conversation, models.CASCADE, db_index=False, related_name="journal"
    )
    position = models.PositiveIntegerField()
    text = models.TextField()
    kind = models.CharField(max_length=100)
    anchor = models.CharField(max_length=60)
    item_position = models.PositiveIntegerField(default=0)
    category = models.CharField(max_length=20, default="", help_text="what it is to a reader")

    class Meta:
        db_table = "store_journalentry"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["conversation", "position"], name="one_entry_a_position"
            )
        ]
        indexes: ClassVar = [
            models.Index(fields=["conversation", "anchor"]),
            models.Index(fields=["conversation", "item_position"], name="journal_by_item"),
            models.Index(
                fields=["conversation", "category", "item_position"], name="journal_by_category"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.conversation_id}#{self.position} {self.kind}"


class Turn(models.Model):
    """A turn: its first position, and the beginning of the person's request; derived."""

    TABLE = "store_turn"

    conversation = models.ForeignKey(
        Conversation, models.CASCADE, db_index=False, related_name="outline"
    )
    number = models.PositiveIntegerField(help_text="counts from 0")
    position = models.PositiveIntegerField(help_text="of its first entry")
    title = models.CharField(max_length=200, blank=True, help_text="how what was asked begins")

    class Meta:
        db_table = "store_turn"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["conversation", "number"], name="one_turn_a_number"),
            models.UniqueConstraint(fields=["conversation", "position"], name="one_turn_a_place"),
        ]

    def __str__(self) -> str:
        return f"{self.conversation_id} turn {self.number}"


class ReadMark(models.Model):
    """The number of entries up to which a person has read a conversation."""

    TABLE = "store_readmark"

    person = models.ForeignKey(Person, models.CASCADE, db_index=False)
    conversation = models.ForeignKey(Conversation, models.CASCADE)
    entry_count = models.PositiveIntegerField(help_text="entries that there were")
    at = models.DateTimeField()

    class Meta:
        db_table = "store_readmark"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["person", "conversation"], name="one_read_mark_a_person"
            )
        ]
        indexes: ClassVar = [models.Index(fields=["person", "at"], name="read_marks_by_time")]

    def __str__(self) -> str:
        return f"{self.person_id} read {self.entry_count} of {self.conversation_id}"

"""The tables. Imported by the store alone; everyone else calls the store's functions."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils import timezone

from jpweb.store.terms import (
    Origin,
    PromptKind,
    PromptState,
    Role,
    RunState,
    TrustKind,
    Writing,
)


class Person(AbstractUser):
    """Someone who signs in."""

    @property
    def display_name(self) -> str:
        return self.first_name or self.username


class Workspace(models.Model):
    """A JP workspace that is mirrored, or the demo that ships with jpweb."""

    jp_id = models.CharField(max_length=16, blank=True)
    name = models.CharField(max_length=200)
    root = models.CharField(max_length=4096, unique=True)
    writing = models.CharField(max_length=10, choices=Writing.choices, default=Writing.OFF)
    overrides = models.TextField(blank=True, help_text="TOML that an owner lays over the files'")
    added_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A person's role in a workspace."""

    person = models.ForeignKey(Person, models.CASCADE, related_name="memberships")
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="memberships")
    role = models.PositiveSmallIntegerField(choices=Role.choices)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["person", "workspace"], name="one_role_a_workspace")
        ]

    def __str__(self) -> str:
        return f"{self.person} in {self.workspace}: {self.get_role_display()}"


class Trust(models.Model):
    """What an owner has seen as it would run, and lets run: a command or an MCP server.

    ``fingerprint`` is that of what was ``shown``; anything else is not trusted.
    """

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="trusted")
    kind = models.CharField(max_length=10, choices=TrustKind.choices)
    name = models.CharField(max_length=200)
    fingerprint = models.CharField(max_length=64)
    shown = models.TextField()
    trusted_by = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="trusts")
    trusted_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["workspace", "kind", "name"], name="one_trust_a_thing")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name} in {self.workspace_id}"


class SignInLink(models.Model):
    """A one-time link. Only the hash of its token is kept."""

    person = models.ForeignKey(Person, models.CASCADE, related_name="links")
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"link for {self.person}"


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


class Run(models.Model):
    """A turn that jpweb executes."""

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="runs")
    state = models.CharField(max_length=10, choices=RunState.choices, default=RunState.RUNNING)
    provider = models.CharField(max_length=50)
    model = models.CharField(max_length=200, blank=True)
    holder = models.CharField(max_length=100)
    resumed = models.PositiveSmallIntegerField(
        default=0, help_text="how often after a process ended"
    )
    problem = models.CharField(max_length=1000, blank=True)
    failure = models.CharField(max_length=20, blank=True, help_text="kind of a provider's failure")
    started_by = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="runs")
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["conversation"],
                condition=models.Q(state="running"),
                name="one_run_a_conversation",
            )
        ]

    def __str__(self) -> str:
        return f"run {self.pk} of {self.conversation_id}: {self.state}"


class Prompt(models.Model):
    """A permission or delivery prompt of a run (RFD 018). Not an inquiry: in no journal.

    ``shown`` is what the person sees: arguments, or content; ``decision`` what they chose.
    """

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="prompts")
    run = models.ForeignKey(Run, models.CASCADE, related_name="prompts")
    kind = models.CharField(max_length=10, choices=PromptKind.choices)
    tool_call_id = models.TextField()
    tool_name = models.CharField(max_length=200)
    shown = models.JSONField()
    state = models.CharField(max_length=10, choices=PromptState.choices, default=PromptState.OPEN)
    decision = models.JSONField(null=True)
    decider = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="prompts")
    decider_name = models.CharField(max_length=200, blank=True)
    asked_at = models.DateTimeField(default=timezone.now)
    settled_at = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["state", "conversation"])]

    def __str__(self) -> str:
        return f"{self.kind} {self.tool_name}: {self.state}"


class Inquiry(models.Model):
    """One question: derived from the journal, and the row that decides who answers first."""

    TABLE = "store_inquiry"

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="inquiries")
    run = models.ForeignKey(Run, models.SET_NULL, null=True, related_name="inquiries")
    anchor = models.CharField(max_length=60)
    position = models.PositiveIntegerField()
    response_position = models.PositiveIntegerField(null=True)
    inquiry_id = models.TextField()
    source = models.CharField(max_length=20)
    asker = models.CharField(max_length=200, help_text="the tool call's name, or the source's")
    label = models.CharField(max_length=200, blank=True, help_text="the prompt label, for display")
    question = models.JSONField(help_text="the question's wire object")
    answer_type = models.CharField(max_length=20)
    state = models.CharField(max_length=20)
    reason = models.CharField(max_length=200, blank=True)
    answer = models.JSONField(null=True, help_text="JSON null where there is none to keep")
    decided_by = models.CharField(max_length=20, blank=True, help_text="kind of decider")
    decider = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="decisions")
    decider_name = models.CharField(max_length=200, blank=True)
    asked_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "store_inquiry"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["conversation", "anchor"], name="one_row_an_inquiry")
        ]
        indexes: ClassVar = [
            models.Index(fields=["-asked_at", "-id"]),
            models.Index(fields=["state", "conversation"]),
        ]

    def __str__(self) -> str:
        return f"{self.inquiry_id}: {self.state}"

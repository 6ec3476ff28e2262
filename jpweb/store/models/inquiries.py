"""Models of questions, their receipts, and presence."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from jpweb.store.models.accounts import Person, Workspace
from jpweb.store.models.conversations import Conversation
from jpweb.store.models.runs import Run
from jpweb.store.sql.byte_order import ByteOrder
from jpweb.store.sql.waiting_time import WaitingMilliseconds


class Inquiry(models.Model):
    """One question, derived from the journal; its row decides which answer came first."""

    TABLE = "store_inquiry"

    conversation = models.ForeignKey(
        Conversation, models.CASCADE, db_index=False, related_name="inquiries"
    )
    run = models.ForeignKey(Run, models.SET_NULL, null=True, related_name="inquiries")
    workspace = models.ForeignKey(
        Workspace,
        models.CASCADE,
        db_index=False,
        related_name="inquiries",
        help_text="that of the conversation",
    )
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
    note = models.CharField(
        max_length=2000, blank=True, db_default="", help_text="said beside a decline"
    )
    decided_by = models.CharField(max_length=20, blank=True, help_text="kind of decider")
    decider = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="decisions")
    decider_name = models.CharField(max_length=200, blank=True)
    channel = models.CharField(
        max_length=20,
        blank=True,
        db_default="",
        help_text="the way of the answer, where that was no page of a signed-in person",
    )
    asked_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    same_question_key = models.CharField(
        max_length=40,
        blank=True,
        db_default="",
        help_text="the same for the same question of a workspace's tool",
    )
    waiter = models.CharField(
        max_length=150,
        blank=True,
        db_default="",
        help_text="the process whose call waits for the secret",
    )
    seal_key = models.CharField(
        max_length=100, blank=True, db_default="", help_text="seals a secret for it"
    )

    class Meta:
        db_table = "store_inquiry"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["conversation", "anchor"], name="one_row_an_inquiry")
        ]
        indexes: ClassVar = [
            models.Index(fields=["-asked_at", "-id"]),
            models.Index(fields=["-settled_at", "-id"], name="inquiries_by_settlement"),
            # The audit's filters, each in the order of time.
            models.Index(fields=["workspace", "asked_at", "id"], name="audit_by_time"),
            *(
                models.Index(fields=["workspace", column, "asked_at", "id"], name=name)
                for column, name in (
                    ("conversation", "audit_of_conversation"),
                    ("state", "audit_of_state"),
                    ("asker", "audit_of_asker"),
                    ("reason", "audit_of_reason"),
                    ("source", "audit_of_source"),
                    ("decider_name", "audit_of_decider"),
                )
            ),
            # The audit's orders.
            models.Index("workspace", ByteOrder("state"), "id", name="audit_by_state"),
            models.Index("workspace", ByteOrder("asker"), "id", name="audit_by_asker"),
            models.Index("workspace", ByteOrder("decider_name"), "id", name="audit_by_decider"),
            models.Index(
                "workspace",
                WaitingMilliseconds("settled_at", "asked_at"),
                "id",
                name="audit_by_waiting_time",
            ),
            models.Index(fields=["state", "conversation"]),
            models.Index(fields=["conversation", "position"], name="questions_by_position"),
            models.Index(fields=["same_question_key", "-settled_at"]),
            models.Index(
                fields=["state", "expires_at"],
                condition=models.Q(expires_at__isnull=False),
                name="questions_to_expire",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.inquiry_id}: {self.state}"


class DisplayReceipt(models.Model):
    """The first times at which one person received, saw and began a question.

    That of an imported question has the name of its person alone.
    """

    inquiry = models.ForeignKey(
        Inquiry, models.CASCADE, db_index=False, related_name="display_receipts"
    )
    person = models.ForeignKey(Person, models.CASCADE, null=True, related_name="display_receipts")
    person_name = models.CharField(max_length=200, blank=True, db_default="")
    delivered_at = models.DateTimeField(help_text="its card was sent to one of their pages")
    visible_at = models.DateTimeField(null=True, help_text="the card was on their screen")
    focused_at = models.DateTimeField(null=True, help_text="they went into the card")
    draft_at = models.DateTimeField(null=True, help_text="they began an answer")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["inquiry", "person"], name="one_receipt_a_person")
        ]

    def __str__(self) -> str:
        return f"{self.inquiry_id} shown to {self.person_id}"

    @property
    def reader_name(self) -> str:
        """The name of the person."""
        return self.person.display_name if self.person else self.person_name


class Presence(models.Model):
    """A person's open page on a process, on which they may answer in the workspace."""

    person = models.ForeignKey(Person, models.CASCADE, related_name="presences")
    workspace = models.ForeignKey(
        Workspace, models.CASCADE, db_index=False, related_name="presences"
    )
    process = models.CharField(max_length=150)
    seen_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["workspace", "person", "process"], name="one_presence_a_process"
            )
        ]
        indexes: ClassVar = [models.Index(fields=["workspace", "seen_at"])]

    def __str__(self) -> str:
        return f"{self.person_id} in {self.workspace_id} by {self.process}"


class QuestionClaim(models.Model):
    """A person works on an open question, until a time; others may still answer it."""

    inquiry = models.OneToOneField(Inquiry, models.CASCADE, related_name="+")
    person = models.ForeignKey(Person, models.CASCADE, related_name="question_claims")
    claimed_at = models.DateTimeField()
    until = models.DateTimeField(help_text="the claim lapses")

    def __str__(self) -> str:
        return f"{self.person_id} is on {self.inquiry_id}"


class QuestionSnooze(models.Model):
    """A person hides an open question from their own queue, until a time."""

    inquiry = models.ForeignKey(Inquiry, models.CASCADE, related_name="snoozes")
    person = models.ForeignKey(
        Person, models.CASCADE, db_index=False, related_name="question_snoozes"
    )
    until = models.DateTimeField(help_text="the question comes back")
    return_number = models.PositiveIntegerField(
        default=1, db_default=1, help_text="of the return, above those of earlier deliveries"
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["person", "inquiry"], name="one_snooze_a_person")
        ]

    def __str__(self) -> str:
        return f"{self.inquiry_id} snoozed by {self.person_id}"

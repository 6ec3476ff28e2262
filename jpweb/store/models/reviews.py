"""Models of reviews, and of the work on them: assignments and reservations."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from jpweb.store.choices import ReviewState, Verdict
from jpweb.store.models.accounts import Person
from jpweb.store.models.conversations import Conversation


class Review(models.Model):
    """An auditor's verdict on a question or a conversation; only a redaction changes a row.

    A question is named by its event's anchor, not by its row: jp may rewrite a conversation, which
    deletes and inserts rows of questions. Another verdict of the same reviewer is a new row.
    """

    conversation = models.ForeignKey(
        Conversation, models.CASCADE, db_index=False, related_name="reviews"
    )
    anchor = models.CharField(
        max_length=60, blank=True, help_text="of the question; empty: the conversation"
    )
    version = models.CharField(
        max_length=64, help_text="identifies what was reviewed; another after each change of it"
    )
    content_hash = models.CharField(max_length=64, help_text="SHA-256 of what was reviewed")
    round = models.PositiveSmallIntegerField(
        help_text="1: first review, 2: second review, 3: owner"
    )
    revision = models.PositiveIntegerField(help_text="counts the reviews of a round, from 1")
    rounds_required = models.PositiveSmallIntegerField(
        help_text="as the workspace asked when the first review was given"
    )
    verdict = models.CharField(max_length=20, choices=Verdict.choices)
    note = models.TextField(blank=True)
    nonce = models.CharField(
        max_length=32, help_text="random, so that the ledger's hash does not reveal the verdict"
    )
    reviewer = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="reviews")
    reviewer_name = models.CharField(max_length=200)
    reviewed_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["conversation", "anchor", "version", "round", "revision"],
                name="one_review_a_revision",
            )
        ]

    def __str__(self) -> str:
        return f"{self.conversation_id}#{self.anchor} round {self.round}: {self.verdict}"


class ReviewTask(models.Model):
    """The state of the reviews of a question or a conversation, and their reviewer."""

    conversation = models.ForeignKey(
        Conversation, models.CASCADE, db_index=False, related_name="review_tasks"
    )
    anchor = models.CharField(
        max_length=60, blank=True, help_text="of the question; empty: the conversation"
    )
    state = models.CharField(
        max_length=10, choices=ReviewState.choices, default=ReviewState.UNREVIEWED
    )
    verdict = models.CharField(
        max_length=20, blank=True, help_text="on which complete reviews agree"
    )
    first_reviewer = models.ForeignKey(
        Person, models.SET_NULL, null=True, related_name="first_reviews"
    )
    assignee = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="review_tasks")
    holder = models.ForeignKey(
        Person, models.SET_NULL, null=True, related_name="held_reviews", help_text="is reviewing"
    )
    held_until = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["conversation", "anchor"], name="one_review_task")
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["state", "-id"],
                condition=models.Q(state__in=("partial", "disagreed", "escalated")),
                name="reviews_to_look_at",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.conversation_id}#{self.anchor}: {self.state}"

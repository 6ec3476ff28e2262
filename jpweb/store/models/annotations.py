"""Models of comments on events, mentions of people in them, and bookmarks.

They are stored beside a conversation by an event's anchor, so that they survive a new copy of it.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from jpweb.store.database import clock
from jpweb.store.models.accounts import Person
from jpweb.store.models.conversations import Conversation


class CommentThread(models.Model):
    """The comments on one event, open or resolved."""

    conversation = models.ForeignKey(
        Conversation, models.CASCADE, db_index=False, related_name="comment_threads"
    )
    anchor = models.CharField(max_length=80, help_text="of the event")
    version = models.PositiveIntegerField(default=0, help_text="counts the changes")
    resolved_at = models.DateTimeField(null=True)
    resolver = models.ForeignKey(
        Person, models.SET_NULL, null=True, related_name="resolved_threads"
    )
    resolver_name = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["conversation", "anchor"], name="one_thread_an_event")
        ]

    def __str__(self) -> str:
        return f"{self.conversation_id}#{self.anchor}"


class Comment(models.Model):
    """A person's comment, in Markdown."""

    thread = models.ForeignKey(CommentThread, models.CASCADE, related_name="comments")
    author = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="comments")
    author_name = models.CharField(max_length=200)
    text = models.TextField()
    nonce = models.CharField(
        max_length=32, help_text="random, so that the ledger's hash does not reveal the text"
    )
    made_at = models.DateTimeField(default=clock.now)
    edited_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"comment {self.pk} in {self.thread_id}"


class Mention(models.Model):
    """A comment names a person, who may have seen that on their page *Mentions*."""

    comment = models.ForeignKey(Comment, models.CASCADE, db_index=False, related_name="mentions")
    person = models.ForeignKey(Person, models.CASCADE, db_index=False, related_name="mentions")
    made_at = models.DateTimeField(default=clock.now)
    seen_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["comment", "person"], name="one_mention_a_comment")
        ]
        indexes: ClassVar = [models.Index(fields=["person", "-id"], name="mentions_of_a_person")]

    def __str__(self) -> str:
        return f"mention of {self.person_id} in {self.comment_id}"


class Bookmark(models.Model):
    """A person's bookmark of an event, or of a conversation where the anchor is empty."""

    person = models.ForeignKey(Person, models.CASCADE, db_index=False, related_name="bookmarks")
    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="bookmarks")
    anchor = models.CharField(max_length=80, blank=True)
    made_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["person", "conversation", "anchor"], name="one_bookmark_an_event"
            )
        ]
        indexes: ClassVar = [models.Index(fields=["person", "-id"], name="bookmarks_of_a_person")]

    def __str__(self) -> str:
        return f"bookmark of {self.person_id}: {self.conversation_id}#{self.anchor}"

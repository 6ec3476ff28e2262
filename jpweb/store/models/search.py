"""Models of search: indexed passages, and saved searches."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from jpweb.store.choices import SavedPage
from jpweb.store.models.accounts import Person
from jpweb.store.models.conversations import Conversation


class Passage(models.Model):
    """Indexed text: a part of a journal entry, or a conversation's title and labels.

    The key begins with the instant (``store/search/passage_ids.py``): keys are in the order of
    time, so a time range is a key range. The full-text index is built from ``body`` and ``tags``,
    by triggers on SQLite and in the column ``lexemes`` on PostgreSQL.
    """

    TABLE = "store_passage"
    #: Position of the passage with a conversation's title and labels.
    TITLE_POSITION = -1

    id = models.BigIntegerField(primary_key=True)
    conversation = models.ForeignKey(
        Conversation, models.CASCADE, related_name="passages", db_index=False
    )
    position = models.IntegerField(help_text="of the journal entry; -1: title and labels")
    part = models.PositiveIntegerField(help_text="long ones are several, from 0")
    item_position = models.PositiveIntegerField()
    anchor = models.CharField(max_length=80, blank=True)
    category = models.CharField(max_length=20)
    at = models.DateTimeField()
    body = models.TextField()
    tags = models.TextField(help_text="what filters look for, as words of the index")
    tool = models.CharField(max_length=200, blank=True, help_text="the tool, or who asked")
    who = models.CharField(max_length=200, blank=True, help_text="who said or decided it")
    state = models.CharField(max_length=20, blank=True, help_text="of the inquiry")
    reason = models.CharField(max_length=200, blank=True)

    class Meta:
        db_table = "store_passage"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["conversation", "position", "part"], name="one_passage_a_place"
            )
        ]

    def __str__(self) -> str:
        return f"{self.conversation_id}#{self.position}.{self.part} {self.category}"


class SavedSearch(models.Model):
    """A person's saved search, or view of a table; ``query`` is the query string of its page."""

    person = models.ForeignKey(Person, models.CASCADE, related_name="searches", db_index=False)
    page = models.CharField(
        max_length=20,
        choices=SavedPage.choices,
        default=SavedPage.SEARCH,
        db_default=SavedPage.SEARCH,
    )
    name = models.CharField(max_length=80)
    query = models.CharField(max_length=2000)
    made_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["person", "page", "name"], name="one_view_a_name")
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.person_id}"

"""A workspace, somebody who reads there, and everything brought up to date."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from jpweb.store import journal
from jpweb.store.models import Conversation, Passage, Person
from jpweb.store.search import engine, query_parser
from jpweb.store.search.engine import SearchHit
from jpweb.stream import anchor_ids
from jpweb.stream.events import (
    ChatResponse,
    Element,
)
from tests.store import making
from tests.store.background_passes import index_all

#: Looks for something as the reader, everything indexed before; returns the hits.
Find = Callable[..., list[SearchHit]]


@pytest.fixture
def find(reader: Person) -> Find:
    def look(query_text: str, who: Person | None = None) -> list[SearchHit]:
        index_all()
        return (
            engine.make_search((who or reader).pk, query_parser.parse_query(query_text))
            .list_newest()
            .rows
        )

    return look


def make_messages(*texts: str) -> list[Any]:
    return [making.event(ChatResponse("message", text)) for text in texts]


def list_places() -> list[tuple[int, str]]:
    return list(Passage.objects.order_by("position", "part").values_list("position", "category"))


def list_passages() -> list[tuple[Any, ...]]:
    return list(Passage.objects.order_by("id").values_list())


def whole_index() -> str:
    """Return all that the tables and the index of the database hold of passages, as text."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT p.*, p.lexemes::text FROM store_passage p")
            return repr(cursor.fetchall())
        text = ""
        for shadow in ("data", "idx", "docsize", "config"):
            cursor.execute(f"SELECT * FROM store_passage_words_{shadow}")  # noqa: S608  four names
            text += repr(cursor.fetchall())
        cursor.execute(
            "CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, store_passage_words, row)"
        )
        cursor.execute("SELECT term FROM temp.terms")
        text += repr(cursor.fetchall())
        cursor.execute("DROP TABLE temp.terms")
        cursor.execute("SELECT * FROM store_passage")
        return text + repr(cursor.fetchall())


def check_index() -> None:
    """Let the database check that its index is that of the table."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO store_passage_words(store_passage_words, rank)"
                " VALUES('integrity-check', 1)"
            )


def replace_elements(conversation: Conversation, elements: list[Element]) -> None:
    """Let the journal of a conversation hold these elements, as a mirror does."""
    anchors = anchor_ids.make_anchors(elements)
    journal.replace_elements(conversation, elements, anchors)
    conversation.entry_count = len(elements)
    conversation.needs_indexing = True
    conversation.save()

"""Conversations that a list is made of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from jpweb.store.choices import Origin
from jpweb.store.conversation_list import paginator
from jpweb.store.conversation_list.filters import ListFilters
from jpweb.store.conversation_list.paginator import ConversationPage
from jpweb.store.models import Conversation, Person, Workspace

START = datetime(2026, 1, 1, tzinfo=UTC)


def make(home: Workspace, count: int, first: int = 1, **more: Any) -> list[Conversation]:
    """Make conversations, each a second newer than the one before."""
    return Conversation.objects.bulk_create(
        Conversation(
            workspace=home,
            jp_id=number,
            title=f"talk {number}",
            **{
                "origin": Origin.MIRRORED,
                "last_activity": START + timedelta(seconds=number),
                "entry_count": number,
            }
            | more,
        )
        for number in range(first, first + count)
    )


def change(talk: Conversation, **values: Any) -> None:
    Conversation.objects.filter(pk=talk.pk).update(**values)


def titles(page: ConversationPage) -> list[str]:
    return [row.conversation.title for row in page.rows]


def listed(reader: Person, **chosen: Any) -> list[str]:
    return titles(paginator.get_page(reader.pk, ListFilters(**chosen)))


def forth(reader: Person, **chosen: Any) -> list[ConversationPage]:
    """Return every page, from the beginning to the end."""
    found: list[ConversationPage] = []
    before = ""
    for _ in range(200):
        found.append(paginator.get_page(reader.pk, ListFilters(**chosen, before=before)))
        before = found[-1].older
        if not before:
            return found
    raise AssertionError("the pages do not end")


def back(reader: Person, last: ConversationPage, **chosen: Any) -> list[ConversationPage]:
    """Return the pages before one, back to the beginning, in the order of the list."""
    found: list[ConversationPage] = []
    after = last.newer
    for _ in range(200):
        if not after:
            return found[::-1]
        found.append(paginator.get_page(reader.pk, ListFilters(**chosen, after=after)))
        after = found[-1].newer
    raise AssertionError("there is no beginning")

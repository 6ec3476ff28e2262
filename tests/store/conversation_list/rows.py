"""Conversations that a list is made of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from jpweb.store.choices import Origin, Role
from jpweb.store.conversation_list import paginator
from jpweb.store.conversation_list.filters import ListFilters
from jpweb.store.conversation_list.paginator import ConversationPage
from jpweb.store.models import Conversation, Membership, Person, Workspace
from tests.store import making

START = datetime(2026, 1, 1, tzinfo=UTC)


def make_workspaces(reader: Person, count: int) -> list[Workspace]:
    """Make workspaces that the reader is in."""
    workspaces = [making.workspace(f"w{n}") for n in range(count)]
    Membership.objects.bulk_create(
        Membership(person=reader, workspace=workspace, role=Role.READER) for workspace in workspaces
    )
    return workspaces


def make_conversations(
    workspace: Workspace, count: int, first: int = 1, **fields: Any
) -> list[Conversation]:
    """Make conversations, each a second newer than the one before."""
    return Conversation.objects.bulk_create(
        Conversation(
            workspace=workspace,
            jp_id=number,
            title=f"talk {number}",
            **{
                "origin": Origin.MIRRORED,
                "last_activity": START + timedelta(seconds=number),
                "entry_count": number,
            }
            | fields,
        )
        for number in range(first, first + count)
    )


def change_conversation(conversation: Conversation, **values: Any) -> None:
    Conversation.objects.filter(pk=conversation.pk).update(**values)


def get_titles(page: ConversationPage) -> list[str]:
    return [row.conversation.title for row in page.rows]


def list_titles(reader: Person, **filters: Any) -> list[str]:
    return get_titles(paginator.get_page(reader.pk, ListFilters(**filters)))


def page_forward(reader: Person, **filters: Any) -> list[ConversationPage]:
    """Return every page, from the beginning to the end."""
    pages: list[ConversationPage] = []
    before = ""
    for _ in range(200):
        pages.append(paginator.get_page(reader.pk, ListFilters(**filters, before=before)))
        before = pages[-1].older
        if not before:
            return pages
    raise AssertionError("the pages do not end")


def page_backward(reader: Person, last: ConversationPage, **filters: Any) -> list[ConversationPage]:
    """Return the pages before one, back to the beginning, in the order of the list."""
    pages: list[ConversationPage] = []
    after = last.newer
    for _ in range(200):
        if not after:
            return pages[::-1]
        pages.append(paginator.get_page(reader.pk, ListFilters(**filters, after=after)))
        after = pages[-1].newer
    raise AssertionError("there is no beginning")

"""Conversations that a list is made of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from jpweb.store.listing import pages
from jpweb.store.listing.choice import Choice
from jpweb.store.listing.pages import Page
from jpweb.store.models import Conversation, Person, Workspace
from jpweb.store.terms import Origin

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
                "length": number,
            }
            | more,
        )
        for number in range(first, first + count)
    )


def change(talk: Conversation, **values: Any) -> None:
    Conversation.objects.filter(pk=talk.pk).update(**values)


def titles(page: Page) -> list[str]:
    return [row.conversation.title for row in page.rows]


def listed(reader: Person, **chosen: Any) -> list[str]:
    return titles(pages.page(reader.pk, Choice(**chosen)))


def forth(reader: Person, **chosen: Any) -> list[Page]:
    """Return every page, from the beginning to the end."""
    found: list[Page] = []
    before = ""
    for _ in range(200):
        found.append(pages.page(reader.pk, Choice(**chosen, before=before)))
        before = found[-1].older
        if not before:
            return found
    raise AssertionError("the pages do not end")


def back(reader: Person, last: Page, **chosen: Any) -> list[Page]:
    """Return the pages before one, back to the beginning, in the order of the list."""
    found: list[Page] = []
    after = last.newer
    for _ in range(200):
        if not after:
            return found[::-1]
        found.append(pages.page(reader.pk, Choice(**chosen, after=after)))
        after = found[-1].newer
    raise AssertionError("there is no beginning")

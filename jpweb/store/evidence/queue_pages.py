"""All items of a review queue, a page at a time, for its file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jpweb.store import exports
from jpweb.store.choices import Role
from jpweb.store.models import Conversation, Inquiry, Membership
from jpweb.store.reviews import exported_reviews, queues
from jpweb.store.reviews.exported_reviews import ExportedReview, Place, Reviewer
from jpweb.store.reviews.queues import QueueItem


class ReviewedQueueRow(NamedTuple):
    """An item with its rows, and the latest review by each reviewer, by the reviewer's key."""

    item: QueueItem
    inquiry: Inquiry | None
    conversation: Conversation
    reviews: dict[int | str, ExportedReview]


class QueuePage(NamedTuple):
    """Consecutive items with their rows; ``done`` of ``total`` are on it and on those before it."""

    rows: list[ReviewedQueueRow]
    done: int
    total: int


def read_pages(person_id: int, name: str) -> Iterator[QueuePage]:
    """Yield the items of a queue as they are now; at least one page.

    Raises ExportBroken where the person's roles are changed meanwhile.
    """
    memberships = Membership.objects.filter(
        person_id=person_id, role__in=Role.list_including(Role.AUDITOR)
    )
    workspace_ids = exports.list_workspace_ids(memberships)
    items = _load_items(person_id, name)
    for start in range(0, max(len(items), 1), queues.PAGE_ITEMS):
        page_items = items[start : start + queues.PAGE_ITEMS]
        reviews = exported_reviews.load_reviews(person_id, _list_places(page_items))
        rows = [
            ReviewedQueueRow(item, inquiry, conversation, reviews.get(_get_place(item), {}))
            for item, inquiry, conversation in queues.load_page(page_items)
        ]
        exports.check_memberships(memberships, workspace_ids)
        yield QueuePage(rows, start + len(page_items), len(items))


def list_reviewers(person_id: int, name: str) -> list[Reviewer]:
    """Return the reviewers of a queue's items, by name."""
    return exported_reviews.list_reviewers(_list_places(_load_items(person_id, name)))


def list_workspace_ids(person_id: int, name: str) -> list[int]:
    """Return the keys of the workspaces of the items of a queue."""
    rows = Conversation.objects.filter(pk__in=list_conversation_ids(person_id, name))
    return sorted(rows.order_by().values_list("workspace_id", flat=True).distinct())


def list_conversation_ids(person_id: int, name: str) -> list[int]:
    """Return the keys of the conversations of the items of a queue, in order."""
    return sorted({item.conversation_id for item in _load_items(person_id, name)})


def _load_items(person_id: int, name: str) -> list[QueueItem]:
    return queues.load_queues(person_id).queues[name].items


def _list_places(items: Iterable[QueueItem]) -> set[Place]:
    return {_get_place(item) for item in items}


def _get_place(item: QueueItem) -> Place:
    return item.conversation_id, item.anchor

"""All items of a review queue, a page at a time, for its file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jpweb.store import exports
from jpweb.store.choices import Role
from jpweb.store.models import Conversation, Membership
from jpweb.store.reviews import queues
from jpweb.store.reviews.queues import QueueRow


class QueuePage(NamedTuple):
    """Consecutive items with their rows; ``done`` of ``total`` are on it and on those before it."""

    rows: list[QueueRow]
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
    items = queues.load_queues(person_id).queues[name].items
    for start in range(0, max(len(items), 1), queues.PAGE_ITEMS):
        page_items = items[start : start + queues.PAGE_ITEMS]
        rows = queues.load_page(page_items)
        exports.check_memberships(memberships, workspace_ids)
        yield QueuePage(rows, start + len(page_items), len(items))


def list_workspace_ids(person_id: int, name: str) -> list[int]:
    """Return the keys of the workspaces of the items of a queue."""
    items = queues.load_queues(person_id).queues[name].items
    rows = Conversation.objects.filter(pk__in={item.conversation_id for item in items})
    return sorted(rows.order_by().values_list("workspace_id", flat=True).distinct())

"""Bookmarks: each person's own, of events and conversations."""

from __future__ import annotations

from typing import NamedTuple

from django.db.models import Exists, OuterRef

from jpweb.store.annotations import thread_listing
from jpweb.store.errors import BookmarkRefused, UnknownAnchor
from jpweb.store.models import Bookmark, Conversation, JournalEntry, Membership
from jpweb.store.sql.compiled_query import CompiledQuery
from jpweb.stream import anchor_ids

#: Bookmarks of one person; those of one conversation that its page marks.
MAX_BOOKMARKS, MAX_MARKED = 1000, 200
#: Rows of the page *Bookmarks*.
PAGE_ROWS = 100


class ShownBookmark(NamedTuple):
    """A bookmark with the first line of its event; that is empty for one that is gone."""

    bookmark: Bookmark
    first_line: str
    is_gone: bool


def toggle_bookmark(person_id: int, conversation: Conversation, anchor: str) -> bool:
    """Set a person's bookmark, or remove it; returns whether it is set now.

    Without an anchor it is one of the conversation. Raises UnknownAnchor and BookmarkRefused.
    """
    rows = Bookmark.objects.filter(person_id=person_id, conversation=conversation, anchor=anchor)
    if rows.delete()[0]:
        return False
    element_anchor, _ = anchor_ids.split_anchor(anchor)
    entries = JournalEntry.objects.filter(conversation=conversation, anchor=element_anchor)
    if anchor and not entries.exists():
        raise UnknownAnchor(f"There is no event {anchor} in this conversation.")
    if Bookmark.objects.filter(person_id=person_id).count() >= MAX_BOOKMARKS:
        raise BookmarkRefused(f"You can have at most {MAX_BOOKMARKS:,} bookmarks.")
    Bookmark.objects.get_or_create(person_id=person_id, conversation=conversation, anchor=anchor)
    return True


def list_anchors(person_id: int, conversation_id: int) -> set[str]:
    """Return the anchors of a person's bookmarks in a conversation; "" is the conversation."""
    return {anchor for (anchor,) in _anchors_query([person_id], [conversation_id])}


#: The ORM takes 0.3 ms longer, for each page of a conversation.
_anchors_query = CompiledQuery(
    lambda person_ids, conversation_ids: (
        Bookmark.objects.filter(person_id__in=person_ids, conversation_id__in=conversation_ids)
        .order_by("-id")
        .values_list("anchor")[:MAX_MARKED]
    )
)


def get_page(
    person_id: int, before_key: int | None = None
) -> tuple[list[ShownBookmark], int | None]:
    """Return a page of a person's bookmarks where they may read, the newest first.

    Beside it the key after which the next page begins; None for the last page.
    """
    memberships = Membership.objects.filter(
        person_id=person_id, workspace_id=OuterRef("conversation__workspace_id")
    )
    rows = Bookmark.objects.filter(Exists(memberships), person_id=person_id)
    if before_key is not None:
        rows = rows.filter(pk__lt=before_key)
    bookmarks = list(
        rows.select_related("conversation__workspace").order_by("-id")[: PAGE_ROWS + 1]
    )
    page = bookmarks[:PAGE_ROWS]
    lines = thread_listing.load_first_lines([(row.conversation_id, row.anchor) for row in page])
    shown_rows = [
        ShownBookmark(row, line or "", bool(row.anchor) and line is None)
        for row in page
        for line in [lines.get((row.conversation_id, row.anchor))]
    ]
    return shown_rows, page[-1].pk if len(bookmarks) > PAGE_ROWS else None

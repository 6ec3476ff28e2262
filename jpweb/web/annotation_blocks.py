"""Annotations as pages show them: below each item its bookmark and the comments on its events."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.template.loader import render_to_string

from jpweb.store.annotations import bookmarks, mentions, thread_listing
from jpweb.store.annotations.thread_listing import ShownThread, ThreadSummary
from jpweb.store.choices import Role
from jpweb.store.transcript import windows
from jpweb.web import access

if TYPE_CHECKING:
    from jpweb.store.models import Conversation
    from jpweb.stream.transcript.items import Item
    from jpweb.web.http import Request


@dataclass(frozen=True, slots=True)
class PageAnnotations:
    """The threads and a person's bookmarks of the events of a page, by anchor.

    ``lost_threads`` are those whose event is no longer in the conversation.
    """

    threads: dict[str, ShownThread] = field(default_factory=dict)
    bookmarks: Collection[str] = ()
    lost_threads: list[ShownThread] = field(default_factory=list)

    def select(self, anchors: list[str]) -> dict[str, Any] | None:
        """Return the context of the block of an item; None where it has no annotation."""
        threads = [self.threads[anchor] for anchor in anchors if anchor in self.threads]
        bookmarked_anchors = [anchor for anchor in anchors if anchor in self.bookmarks]
        if not (threads or bookmarked_anchors):
            return None
        return {"anchor": anchors[0], "threads": threads, "is_bookmarked": bool(bookmarked_anchors)}


def list_anchors(item: Item) -> list[str]:
    """Return the anchors of an item's events; that of the item itself is the first."""
    return [element.anchor for element in item.elements]


def build_page_context(
    person_id: int, conversation: Conversation, items: Iterable[Item], *, is_at_end: bool
) -> dict[str, Any]:
    """Return the annotations that a page of a conversation shows, and attach them to the row.

    Two queries where there is no comment.
    """
    bookmarked_anchors = bookmarks.list_anchors(person_id, conversation.pk)
    status = build_status(conversation.pk)
    anchors = {anchor for item in items for anchor in list_anchors(item)}
    shown_anchors = {entry.anchor for entry in status["summaries"]} & anchors
    lost_anchors = status["lost_anchors"] if is_at_end else []
    threads = thread_listing.load_threads(conversation.pk, {*shown_anchors, *lost_anchors})
    lost_threads = [threads[anchor] for anchor in lost_anchors if anchor in threads]
    annotations = PageAnnotations(threads, bookmarked_anchors, lost_threads)
    conversation.annotations = annotations  # type: ignore[attr-defined]  # read by render_annotations
    has_comments = bool(status["summaries"] or status["lost_anchors"])
    return {"comment_status": status, "annotations": annotations, "has_comments": has_comments}


def attach_bookmarks(person_id: int, conversation: Conversation) -> None:
    """Attach the person's bookmarks to the row, for a page that shows no comments."""
    annotations = PageAnnotations(bookmarks=bookmarks.list_anchors(person_id, conversation.pk))
    conversation.annotations = annotations  # type: ignore[attr-defined]  # read by render_annotations


def build_status(conversation_id: int) -> dict[str, Any]:
    """Return the threads of a conversation, in the order of their events, and the open ones."""
    summaries = thread_listing.list_summaries(conversation_id)
    positions = thread_listing.find_positions(
        conversation_id, (entry.anchor for entry in summaries)
    )
    placed_summaries = [entry for entry in summaries if entry.anchor in positions]
    placed_summaries.sort(key=lambda entry: positions[entry.anchor])
    return {
        "summaries": placed_summaries,
        "open_threads": _list_open(placed_summaries),
        "open_count": sum(entry.comment_count for entry in _list_open(placed_summaries)),
        "lost_anchors": [entry.anchor for entry in summaries if entry.anchor not in positions],
    }


def find_next_open(conversation_id: int, previous_anchor: str) -> str:
    """Return the anchor of the open thread after another event, or the first one; "" for none."""
    open_threads: list[ThreadSummary] = build_status(conversation_id)["open_threads"]
    open_anchors = [entry.anchor for entry in open_threads]
    if not open_anchors:
        return ""
    if previous_anchor in open_anchors:
        return open_anchors[(open_anchors.index(previous_anchor) + 1) % len(open_anchors)]
    positions = thread_listing.find_positions(conversation_id, [*open_anchors, previous_anchor])
    start = positions.get(previous_anchor, -1)
    return next((anchor for anchor in open_anchors if positions[anchor] > start), open_anchors[0])


def render_block(
    request: Request, conversation: Conversation, anchor: str, *, has_forms: bool, problem: str = ""
) -> str:
    """Render the annotations of an event's item; "" without one, unless there are forms.

    ``problem`` says why the text that the request sent was refused; a form keeps it.
    """
    person_id = request.user.pk
    anchors = _find_item_anchors(conversation.pk, anchor) or [anchor]
    threads = thread_listing.load_threads(conversation.pk, anchors)
    marked_anchors = bookmarks.list_anchors(person_id, conversation.pk)
    context = PageAnnotations(threads, marked_anchors).select(anchors)
    if context is None and not has_forms:
        return ""
    context = context or {"anchor": anchors[0], "threads": [], "is_bookmarked": False}
    context |= {"conversation": conversation, "has_forms": has_forms}
    if has_forms:
        context |= {
            "problem": problem,
            "sent": request.POST if problem else {},
            "sent_anchor": anchor,
            "new_anchor": anchor if anchor not in threads else "",
            "member_names": mentions.list_member_names(conversation.workspace_id),
            "may_audit": access.has_request_role(request, conversation.workspace_id, Role.AUDITOR),
        }
    html: str = render_to_string("annotations/_block.html", context, request=request)
    return html


def _list_open(summaries: Iterable[ThreadSummary]) -> list[ThreadSummary]:
    return [entry for entry in summaries if not entry.is_resolved]


def _find_item_anchors(conversation_id: int, anchor: str) -> list[str]:
    """Return the anchors of the item that an event is shown in; none where it is gone."""
    positions = thread_listing.find_positions(conversation_id, [anchor])
    items = windows.load_items(conversation_id, positions.values()).items if positions else []
    for _, item in items:
        if anchor in (anchors := list_anchors(item)):
            return anchors
    return []

"""Item updates: HTML of the items of a conversation that pages lack, and of whole windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.template.loader import render_to_string
from django.urls import reverse

from jpweb.store.transcript import turns, windows
from jpweb.web import transcript
from jpweb.web.transcript import TranscriptLine, TranscriptPage, TranscriptQuery
from jpweb.web.websocket import insert_targets

if TYPE_CHECKING:
    from jpweb.store.models import Conversation
    from jpweb.store.transcript.item_loader import LoadedItems
    from jpweb.web.websocket.conversation_updates import RenderedState


class ItemUpdates:
    """Items of a conversation, read once for all pages that lack the same entries."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._changed_items: dict[tuple[int, int | None], LoadedItems | None] = {}

    def render_added(self, page: RenderedState, turn_number: int | None = None) -> list[str]:
        """Render the items that were added or changed since a page's state.

        With ``turn_number`` approvals have changed too: calls without a result are rendered again,
        from this turn on.
        """
        key = page.entry_count, turn_number
        if key not in self._changed_items:
            self._changed_items[key] = _find_changed_items(self._conversation, *key)
        contents = self._changed_items[key]
        if contents is None and page.last is None:
            return [self._render_window(page)]
        if contents is None:
            contents = _find_continued_items(self._conversation, page.entry_count)
        changed_lines = self._build_lines(contents)
        visible_lines = [line for line in changed_lines if page.has_item(line.item.first)]
        categories = transcript.find_categories(page.show)
        shown_lines = [
            line
            for line in visible_lines
            if transcript.is_item_shown(line.item, categories, page.entry_count)
        ]
        parts = [_render_line("_oob_item", self._conversation, line) for line in shown_lines]
        new_lines = [
            line
            for line in visible_lines
            if not transcript.is_item_shown(line.item, categories, page.entry_count)
        ]
        added_lines = [
            line for line in new_lines if transcript.is_item_shown(line.item, categories)
        ]
        if not page.entry_count or (added_lines and categories is not None):
            parts.append(self._render_empty_text(added_lines))
        if categories is None:
            placements = insert_targets.place_at_end(self._conversation, added_lines)
        else:
            placements = insert_targets.place_among(self._conversation, added_lines, categories)
        return parts + [
            _render_line("_oob_insert", self._conversation, *placement) for placement in placements
        ]

    def _render_empty_text(self, lines: list[TranscriptLine]) -> str:
        """Render why a transcript with these lines shows nothing, hidden where it has some."""
        context = {
            "conversation": self._conversation,
            "page": {"lines": lines},
            "page_url": reverse("conversation", args=[self._conversation.pk]),
            "oob": True,
        }
        return render_to_string("conversations/_empty_transcript.html", context)

    def render_revision(self, page: RenderedState) -> list[str]:
        """Render the page's window and outline again after a new revision."""
        transcript_page = self._load_window(page)
        query = TranscriptQuery(show=page.show, words=page.search)
        context = transcript.build_outline_context(self._conversation, transcript_page) | {
            "conversation": self._conversation,
            "query_string": query.to_query_string(),
            "oob": True,
        }
        outline_html = render_to_string("conversations/_outline.html", context)
        return [self._render_page(page, transcript_page), outline_html]

    def _build_lines(self, contents: LoadedItems) -> list[TranscriptLine]:
        """Return items as lines, whose rendering reads their contents from the conversation."""
        self._conversation.question_keys = contents.question_ids  # type: ignore[attr-defined]  # read by question_url
        self._conversation.call_decisions = contents.call_decisions  # type: ignore[attr-defined]  # read by render_item
        return transcript.build_lines(contents, self._conversation.entry_count, is_contiguous=False)

    def _render_window(self, page: RenderedState) -> str:
        """Render the page's window again; the last one if it is missing."""
        return self._render_page(page, self._load_window(page))

    def _load_window(self, page: RenderedState) -> TranscriptPage:
        query = self._make_query(page)
        return transcript.load_page(self._conversation, query, read_count=None)

    def _make_query(self, page: RenderedState) -> TranscriptQuery:
        last_position = max(self._conversation.entry_count - 1, 0)
        position = "end" if page.last is None else str(min(page.first, last_position))
        return TranscriptQuery(at=position, show=page.show)

    def _render_page(self, page: RenderedState, transcript_page: TranscriptPage) -> str:
        query = self._make_query(page)
        context = transcript.build_window_context(self._conversation, query, transcript_page)
        return render_to_string("conversations/_oob_window.html", context)


def _find_changed_items(
    conversation: Conversation, length: int, turn_number: int | None
) -> LoadedItems | None:
    """Return the items of entries from a position on; None where there are too many.

    Included are items with a question whose state such an entry changes: a new turn ends the open
    questions of the previous one.
    """
    item_positions = windows.find_changed_item_positions(conversation.pk, length)
    if item_positions is None:
        return None
    if turn_number is not None:
        item_positions += turns.list_pending_call_positions(conversation.pk, turn_number)
    contents = windows.load_items(conversation.pk, set(item_positions))
    new_starts = [turn.position for turn in contents.turns.values() if turn.position >= length]
    if new_starts and (
        open_item_positions := turns.list_open_item_positions(conversation.pk, min(new_starts))
    ):
        contents = windows.load_items(conversation.pk, {*item_positions, *open_item_positions})
    return contents


def _find_continued_items(conversation: Conversation, length: int) -> LoadedItems:
    """Return the changed items before a position, if the added ones are too many to render."""
    item_positions = windows.find_continued_item_positions(conversation.pk, length)
    next_start = turns.find_next_start(conversation.pk, length)
    open_item_positions = (
        [] if next_start is None else turns.list_open_item_positions(conversation.pk, next_start)
    )
    return windows.load_items(conversation.pk, {*item_positions, *open_item_positions})


def _render_line(
    template_name: str, conversation: Conversation, line: TranscriptLine, target: str = ""
) -> str:
    context = {"line": line, "conversation": conversation, "target": target}
    return render_to_string(f"conversations/{template_name}.html", context)

"""The compacted conversation: the context that the next request sends to the model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from jpweb.store.choices import Role
from jpweb.store.transcript import raw_entries, turns, windows
from jpweb.stream.compaction import SUMMARY_REQUEST, CompactionOverlays, TurnPolicy
from jpweb.stream.transcript.categories import categorize_element
from jpweb.stream.transcript.compacted import compact_item
from jpweb.stream.transcript.items import Item, StandaloneItem, ToolCall
from jpweb.web import access, annotation_blocks, converters, display_text
from jpweb.web.templatetags import jpweb_events
from jpweb.web.templatetags.jpweb_annotations import render_annotations
from jpweb.web.views.transcript_modes import compaction_list
from jpweb.web.views.transcript_modes.page_budget import PageBudget

if TYPE_CHECKING:
    from jpweb.store.models import Conversation, Turn
    from jpweb.store.transcript.raw_entries import CompactionEntry
    from jpweb.web.http import Request

#: Summaries and windows per page.
MAX_STEPS = 4
#: Elements by which the link to earlier ones goes back.
_STEP_BACK_ELEMENTS = 50


@access.conversation(Role.READER)
def show_compacted(request: Request, conversation: Conversation) -> HttpResponse:
    """Show the compacted conversation from position ``from`` to ``to``; both are optional."""
    compactions = raw_entries.list_compactions(conversation.pk)
    start = converters.parse_number(request.GET.get("from")) or 0
    context: dict[str, Any] = {
        "conversation": conversation,
        "max_compactions": raw_entries.MAX_OVERLAYS,
    }
    if compactions is None:
        return render(request, "transcript_modes/compacted.html", context | {"too_many": True})
    if compactions:
        annotation_blocks.attach_bookmarks(request.user.pk, conversation)
        page = _CompactedPage(conversation, compactions)
        page.fill_page(start, converters.parse_number(request.GET.get("to")))
        context |= {
            **compaction_list.list_compactions(compactions),
            "pieces": page.pieces,
            "previous_position": max(page.start - _STEP_BACK_ELEMENTS, 0) if page.start else None,
            "start": page.start,
            "next_position": page.next_position,
        }
    return render(request, "transcript_modes/compacted.html", context)


@dataclass
class _OmittedItems:
    """Counts of consecutive omitted items, and the anchor of the first one."""

    anchor: str = ""
    counts: Counter[str] = field(default_factory=Counter)

    def add_item(self, item: Item) -> None:
        match item:
            case ToolCall(inquiries=inquiries):
                self.counts["call"] += 1
                self.counts["question"] += len(inquiries)
            case StandaloneItem(placed=placed_element):
                self.counts[categorize_element(placed_element.element)] += 1
            case _:
                pass
        self.anchor = self.anchor or item.elements[0].anchor


class _CompactedPage:
    """Fills a page with pieces of HTML until it is full or the conversation ends.

    ``start`` is its first position, ``next_position`` that of the next page.
    """

    def __init__(self, conversation: Conversation, compactions: list[CompactionEntry]) -> None:
        self.pieces: list[SafeString] = []
        self.start = 0
        self.next_position: int | None = None
        self._conversation = conversation
        self._overlays = CompactionOverlays(compaction.overlay for compaction in compactions)
        self._compactions = compactions
        self._budget = PageBudget()
        self._omitted = _OmittedItems()
        self._turn, self._end = -1, 0
        self._has_items = self._full = False

    def fill_page(self, start: int, end: int | None = None) -> None:
        """Add pieces from a position on: at most one window and ``MAX_STEPS`` summaries."""
        self.start, position = start, start
        length = self._conversation.entry_count
        self._end = length if end is None else min(end, length)
        for step in range(MAX_STEPS):
            turn = turns.find_turn(self._conversation.pk, position)
            if turn is None or self._full or position >= self._end:
                break
            if self._overlays.get_policy(turn.number).summary is None:
                position = self._put_window(position)
            else:
                position = self._put_summary(turn.number, is_first=step == 0)
        self.next_position = position if position < length else None
        self._put_omissions()

    def _put_summary(self, turn: int, *, is_first: bool) -> int:
        """Add a summary in place of its turns; return the next position."""
        first_turn, last_turn = self._overlays.find_summary_range(turn)
        last_turn = min(last_turn, self._conversation.turns - 1)
        starts = turns.get_starts(self._conversation.pk, first_turn, last_turn + 1)
        start = starts.get(first_turn, 0)
        end = starts.get(last_turn + 1, self._conversation.entry_count)
        if is_first:
            self.start = start
        policy = self._overlays.get_policy(turn)
        staying_count = raw_entries.count_never_compacted(self._conversation.pk, start, end)
        context = {
            "text": policy.summary,
            "anchor": self._find_anchor(policy),
            "first_turn": first_turn,
            "last_turn": last_turn,
        }
        context |= {
            "replaced_count": end - start - staying_count,
            "staying_count": staying_count,
            "summary_prompt": SUMMARY_REQUEST,
        }
        return end if self._put_piece("_summary", **context) else start

    def _find_anchor(self, policy: TurnPolicy) -> str:
        """Return the anchor of a summary's compaction."""
        overlays = (
            (compaction.anchor, CompactionOverlays([compaction.overlay]), compaction.overlay)
            for compaction in self._compactions
        )
        return next(
            anchor
            for anchor, own_overlays, overlay in overlays
            if own_overlays.get_policy(overlay.kind.from_turn).overlay == policy.overlay
        )

    def _put_window(self, position: int) -> int:
        """Add items from a position up to a summary; return the next position."""
        window = windows.load_after(self._conversation.pk, position - 1)
        contents = window.contents
        self._conversation.question_keys = contents.question_ids  # type: ignore[attr-defined]  # read by question_url
        self._conversation.call_decisions = contents.call_decisions  # type: ignore[attr-defined]  # read by render_item
        for turn, item in contents.items:
            policy = self._overlays.get_policy(turn)
            if item.first >= self._end:
                return item.first
            if policy.summary is not None:
                return contents.turns[turn].position
            shortened_item = compact_item(item, policy)
            if shortened_item is None:
                self._omitted.add_item(item)
            elif not self._put_item(contents.turns[turn], item, shortened_item, policy):
                return item.first
        self._full = True
        return window.item_positions[-1] + 1 if window.has_later else self._conversation.entry_count

    def _put_item(self, turn: Turn, item: Item, shortened_item: Item, policy: TurnPolicy) -> bool:
        """Add a shortened item with its turn's heading; tell whether it fits."""
        if turn.number != self._turn:
            context = {"turn_number": turn.number, "is_continued": turn.position < item.first}
            if not self._put_piece(
                "_turn_heading", effects=compaction_list.describe_policy(policy), **context
            ):
                return False
            self._turn = turn.number
        html = jpweb_events.render_item(shortened_item, self._conversation)
        html += render_annotations(item, self._conversation)
        # An item that exceeds an empty page becomes a link, so that paging gets past it.
        anchor = item.elements[0].anchor
        is_within_budget = self._put_piece(
            "_item", html=html, anchor=anchor, is_shortened=shortened_item != item
        )
        if not is_within_budget and not self._has_items:
            is_within_budget = self._put_piece("_item", anchor=anchor)
        self._has_items = self._has_items or is_within_budget
        return is_within_budget

    def _put_piece(self, name: str, **context: Any) -> bool:
        html = self._render_piece(name, **context)
        if not self._budget.try_add(html):
            self._full = True
            return False
        self._put_omissions()
        self.pieces.append(html)
        return True

    def _put_omissions(self) -> None:
        """Add a line with the counts of items omitted since the last piece."""
        counts = +self._omitted.counts
        del counts["compaction"], counts["turn"]
        if counts:
            context = {
                "counts": display_text.describe_counts(counts),
                "anchor": self._omitted.anchor,
            }
            self.pieces.append(self._render_piece("_omissions", **context))
        self._omitted = _OmittedItems()

    def _render_piece(self, name: str, **context: Any) -> SafeString:
        context["conversation"] = self._conversation
        return render_to_string(f"transcript_modes/{name}.html", context)

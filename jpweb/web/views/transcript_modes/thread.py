"""A turn's items beside the messages that were sent to the model."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from jpweb.runtime.rendering import json_values
from jpweb.store.choices import Role
from jpweb.store.transcript import raw_entries, turns, windows
from jpweb.stream.compaction import CompactionOverlays, TurnPolicy
from jpweb.stream.events import ChatResponse, ToolCallRequest
from jpweb.stream.sanitize import INTERRUPTED
from jpweb.stream.transcript.compacted import compact_item
from jpweb.stream.transcript.items import Item
from jpweb.stream.transcript.model_view import (
    SentEvent,
    count_withheld,
    get_sort_key,
    list_sent_events,
    split_requests,
)
from jpweb.web import access, annotation_blocks, converters, display_text, notice_text
from jpweb.web.templatetags import jpweb_events
from jpweb.web.templatetags.jpweb_annotations import render_annotations
from jpweb.web.views.transcript_modes import compaction_list
from jpweb.web.views.transcript_modes.page_budget import PageBudget

if TYPE_CHECKING:
    from jpweb.store.models import Conversation
    from jpweb.store.transcript.raw_entries import CompactionEntry
    from jpweb.web.http import Request

#: Characters of a message shown.
MAX_MESSAGE_CHARS = 1_500


@access.conversation(Role.READER)
def show_thread(request: Request, conversation: Conversation) -> HttpResponse:
    """Show a turn by its number from 0; without a number, the last one."""
    requested_turn = converters.parse_number(request.GET.get("turn"))
    last_turn = conversation.turns - 1
    turn = last_turn if requested_turn is None else requested_turn
    context: dict[str, Any] = {"conversation": conversation, "turn": turn, "last_turn": last_turn}
    if last_turn < 0:
        return render(request, "transcript_modes/thread.html", context)
    starts = turns.get_starts(conversation.pk, turn, turn + 1)
    if turn not in starts:
        raise Http404
    start, end = starts[turn], starts.get(turn + 1, conversation.entry_count)
    compactions = raw_entries.list_compactions(conversation.pk)
    earlier_compactions = [
        compaction for compaction in compactions or () if compaction.overlay.position < start
    ]
    annotation_blocks.attach_bookmarks(request.user.pk, conversation)
    page = _ThreadPage(conversation, _make_policy(earlier_compactions, turn))
    position = max(converters.parse_number(request.GET.get("from")) or 0, start)
    page.fill_page(turn, position, end)
    context |= {
        "start": start,
        "requests": page.group_requests(),
        "item_pieces": page.item_pieces,
        "differences": page.describe_differences(),
        **compaction_list.list_compactions(earlier_compactions),
        "too_many": compactions is None,
        "effects_then": compaction_list.describe_policy(page.policy),
        "is_compacted_since": _make_policy(compactions or (), turn) != page.policy,
        "is_continued": position > start,
        "next_position": page.next_position,
    }
    return render(request, "transcript_modes/thread.html", context)


def _make_policy(compactions: list[CompactionEntry] | tuple[()], turn: int) -> TurnPolicy:
    return CompactionOverlays(compaction.overlay for compaction in compactions).get_policy(turn)


class _ThreadPage:
    """One page of a turn: its items, and the sent messages.

    ``policy`` is the effect of compactions before the turn, ``next_position`` where the next page
    begins.
    """

    def __init__(self, conversation: Conversation, policy: TurnPolicy) -> None:
        self.policy = policy
        self.item_pieces: list[SafeString] = []
        self.next_position: int | None = None
        self._conversation = conversation
        self._budget = PageBudget()
        self._sent: list[tuple[SentEvent, SafeString]] = []
        self._withheld: Counter[str] = Counter()

    def fill_page(self, turn: int, position: int, end: int) -> None:
        """Add a turn's items from a position on, as many as fit."""
        window = windows.load_after(self._conversation.pk, position - 1)
        contents = window.contents
        self._conversation.question_keys = contents.question_ids  # type: ignore[attr-defined]  # read by question_url
        self._conversation.call_decisions = contents.call_decisions  # type: ignore[attr-defined]  # read by render_item
        turn_items = [item for number, item in contents.items if number == turn]
        for item in turn_items:
            if not self._put_item(item):
                self.next_position = item.first
                return
        if turn_items:
            self.next_position = raw_entries.find_next_item_position(
                self._conversation.pk, turn_items[-1].first, end
            )

    def group_requests(self) -> list[list[SafeString]]:
        """Return the sent messages, grouped by the model's requests."""
        sorted_messages = sorted(self._sent, key=lambda message: get_sort_key(message[0]))
        html = iter([html for _, html in sorted_messages])
        return [
            [next(html) for _ in piece]
            for piece in split_requests(message for message, _ in sorted_messages)
        ]

    def describe_differences(self) -> list[str]:
        """Return the differences between items and messages, in words."""
        lines = [
            notice_text.EVENTS_NOT_SENT.format(count=count)
            for count in display_text.describe_counts(self._withheld)
        ]
        missing_count = sum(message.is_synthetic for message, _ in self._sent)
        if missing_count:
            text = notice_text.RESULT_MISSING if missing_count == 1 else notice_text.RESULTS_MISSING
            lines.append(text.format(count=missing_count, replacement=INTERRUPTED))
        if any(is_reasoning(message) for message, _ in self._sent):
            lines.append(notice_text.REASONING_SENT_BACK)
        return lines

    def _put_item(self, item: Item) -> bool:
        """Add an item on both sides; tell whether it fits."""
        shortened_item = compact_item(item, self.policy)
        rendered_messages = [
            (sent_message, self._render_message(sent_message))
            for sent_message in (list_sent_events([shortened_item]) if shortened_item else ())
        ]
        html = jpweb_events.render_item(item, self._conversation)
        html += render_annotations(item, self._conversation)
        if not self._budget.try_add(html, *(message_html for _, message_html in rendered_messages)):
            if self.item_pieces:
                return False
            html = self._render_piece("_item", anchor=item.elements[0].anchor)
            rendered_messages = []
        self.item_pieces.append(html)
        self._sent += rendered_messages
        self._withheld += count_withheld([item])
        return True

    def _render_message(self, message: SentEvent) -> SafeString:
        title, text = describe_message(message)
        return self._render_piece(
            "_message",
            role=message.role,
            role_label=display_text.ROLE_LABELS[message.role],
            title=title,
            text=text[:MAX_MESSAGE_CHARS],
            char_count=len(text),
            is_cut=len(text) > MAX_MESSAGE_CHARS,
            anchor=message.placed.anchor,
            is_synthetic=message.is_synthetic,
        )

    def _render_piece(self, name: str, **context: Any) -> SafeString:
        context["conversation"] = self._conversation
        return render_to_string(f"transcript_modes/{name}.html", context)


def describe_message(message: SentEvent) -> tuple[str, str]:
    """Return a message's title, and its text as sent."""
    match message.kind:
        case ToolCallRequest(name=name, arguments=arguments):
            return display_text.CALL_TITLE.format(name=name), json_values.format_json(arguments)
        case ChatResponse(variant="reasoning", content=content):
            return display_text.REASONING_TITLE, str(content)
        case ChatResponse(variant="data", content=content):
            return display_text.DATA_TITLE, json_values.format_json(content)
        case kind:
            return "", str(getattr(kind, "content", ""))


def is_reasoning(message: SentEvent) -> bool:
    """Tell whether a message is the model's reasoning."""
    return isinstance(message.kind, ChatResponse) and message.kind.variant == "reasoning"

"""Derives columns of other tables again where the element was replaced that they repeat."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection

from django.db.models import Q

from jpweb.store import db_text
from jpweb.store.choices import ReviewState
from jpweb.store.derived_rows import from_stream
from jpweb.store.models import Conversation, Inquiry, ReviewTask, Turn
from jpweb.store.sql import bulk
from jpweb.stream.events import ChatRequest, ConversationEvent, Element
from jpweb.stream.inquiry import Answered, InquiryRequest, InquiryResponse
from jpweb.stream.transcript.grouping import extract_title


class TurnTitles:
    """Titles of a conversation's turns, as they become while events of them are replaced."""

    def __init__(self, conversation: Conversation) -> None:
        turns = Turn.objects.filter(conversation=conversation).order_by("position")
        self._rows = list(turns.values_list("position", "pk", "title"))
        self._positions = [row[0] for row in self._rows]
        self.titles = {key: title for _, key, title in self._rows}

    def replace(self, position: int, old_element: Element, new_element: Element) -> None:
        """Derive the title of the turn that has this position, where the event was its source."""
        index = bisect_right(self._positions, position) - 1
        if index >= 0:
            key = self._rows[index][1]
            self.titles[key] = derive_turn_title(self.titles[key], old_element, new_element)

    def list_changes(self) -> list[tuple[int, str, str]]:
        """Return the changed ones: key, title before and title after."""
        return [
            (key, title, self.titles[key])
            for _, key, title in self._rows
            if self.titles[key] != title
        ]

    def save(self) -> None:
        """Save the changed ones."""
        rows = [(title, key) for key, _, title in self.list_changes()]
        bulk.update_rows("store_turn", "id", ("title",), rows)


def replace_turn_title(
    conversation: Conversation, position: int, old_element: Element, new_element: Element
) -> None:
    turns = Turn.objects.filter(conversation=conversation, position__lte=position)
    turn = turns.order_by("-position").first()
    if turn is None:
        return
    title = derive_turn_title(turn.title, old_element, new_element)
    if title != turn.title:
        turn.title = title
        turn.save(update_fields=["title"])


def derive_turn_title(title: str, old_element: Element, new_element: Element) -> str:
    """Return the title of a turn where this element of it was replaced."""
    if not is_title_source(title, old_element):
        return title
    return make_title(new_element.kind) if isinstance(new_element.kind, ChatRequest) else ""


def is_title_source(title: str, element: Element) -> bool:
    """Tell whether the title of a turn repeats this element of it."""
    kinds = [event.kind for event in element.events]
    return bool(title) and any(
        isinstance(kind, ChatRequest) and title == make_title(kind) for kind in kinds
    )


def make_title(request: ChatRequest) -> str:
    return db_text.clean_text(extract_title(request.content))


def replace_inquiry_columns(conversation: Conversation, position: int, element: Element) -> None:
    """Derive the rows of the question again that is asked or settled at this position."""
    inquiries = Inquiry.objects.filter(conversation=conversation)
    event = element.body
    if not isinstance(event, ConversationEvent):
        return
    if isinstance(event.kind, InquiryRequest):
        inquiries.filter(position=position).update(
            question=db_text.clean_json(event.kind.question.to_fields()),
            label=from_stream.get_label(event),
            same_question_key="",
        )
    elif isinstance(event.kind, InquiryResponse):
        outcome = event.kind.outcome
        answer = db_text.clean_json(outcome.answer) if isinstance(outcome, Answered) else None
        inquiries.filter(response_position=position).update(
            answer=answer, note=from_stream.get_note(event)
        )


def mark_unreviewed(conversation: Conversation, positions: Collection[int]) -> None:
    """Store that a conversation, and its questions with changed events, have no review as they are.

    ``positions`` are those of the events. The reviews stay, of an earlier version. What was
    escalated stays so until an owner has decided.
    """
    inquiries = Inquiry.objects.filter(conversation=conversation)
    changed_inquiries = inquiries.filter(
        Q(position__in=positions) | Q(response_position__in=positions)
    )
    tasks = ReviewTask.objects.filter(
        Q(anchor="") | Q(anchor__in=changed_inquiries.values("anchor")), conversation=conversation
    ).exclude(state=ReviewState.ESCALATED)
    tasks.update(state=ReviewState.UNREVIEWED, verdict="", first_reviewer=None)

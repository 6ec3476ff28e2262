"""Loads the conversations, questions and events that entries of the ledger are about."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple, TypeAlias

from django.db.models import Q

from jpweb.store.inquiries import defer_questions
from jpweb.store.models import Conversation, Inquiry, JournalEntry, LedgerEntry

#: An event: the key of its conversation, and its anchor.
EventPlace: TypeAlias = tuple[int, str]


class EntrySubjects(NamedTuple):
    """The subjects of entries; those that are gone since are missing."""

    conversations: Mapping[int, Conversation]
    questions: Mapping[int, Inquiry]
    questions_by_place: Mapping[EventPlace, Inquiry]
    event_kinds: Mapping[EventPlace, str]


def load_subjects(entries: Collection[LedgerEntry]) -> EntrySubjects:
    """Return the subjects of entries; at most three queries."""
    conversation_ids = {key for entry in entries if (key := entry.conversation_id) is not None}
    subjects = [entry.subject.partition(":") for entry in entries]
    inquiry_ids = {int(key) for kind, _, key in subjects if kind == "inquiry" and key.isdecimal()}
    anchors = {anchor for kind, _, anchor in subjects if kind == "event"}
    in_place = Q(conversation_id__in=conversation_ids, anchor__in=anchors)
    questions = list(defer_questions(Inquiry.objects.filter(Q(pk__in=inquiry_ids) | in_place)))
    events = JournalEntry.objects.filter(in_place)
    return EntrySubjects(
        Conversation.objects.in_bulk(conversation_ids),
        {row.pk: row for row in questions},
        {(row.conversation_id, row.anchor): row for row in questions},
        {
            (key, anchor): kind
            for key, anchor, kind in events.values_list("conversation_id", "anchor", "kind")
        },
    )


def get_question(entry: LedgerEntry, subjects: EntrySubjects) -> Inquiry | None:
    """Return the question that an entry is about, also by the event that asked it."""
    kind, _, key = entry.subject.partition(":")
    if kind == "inquiry" and key.isdecimal():
        return subjects.questions.get(int(key))
    return subjects.questions_by_place.get((entry.conversation_id or 0, key))


def get_event_kind(entry: LedgerEntry, subjects: EntrySubjects) -> str:
    """Return the kind of the event that an entry is about; "" for another subject."""
    kind, _, anchor = entry.subject.partition(":")
    place = entry.conversation_id or 0, anchor
    return subjects.event_kinds.get(place, "") if kind == "event" else ""

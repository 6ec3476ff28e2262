"""Subjects of reviews: a closed question, or a conversation as a whole."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from typing import NamedTuple

from django.db.models import CharField, Exists, OuterRef, Q, Value
from django.db.models.functions import Cast, Concat

from jpweb.evidence import ledger_verifier
from jpweb.store.choices import InterruptKind, ReviewState
from jpweb.store.inquiries import MEMORY_DECIDER, OPEN_STATE
from jpweb.store.models import (
    Approval,
    Conversation,
    Inquiry,
    JournalEntry,
    Review,
    Run,
    RunInterrupt,
)

#: Entries that are fetched at once while a conversation is hashed.
_FETCH_ENTRIES = 500
_OWN_QUESTION_REFUSAL = "You closed this question, so someone else has to review it."
_REMEMBERED_REFUSAL = "Your remembered answer decided this question, so someone else reviews it."
_OWN_TURN_REFUSAL = "You started the turn of this question, so someone else has to review it."
_OWN_CONVERSATION_REFUSAL = "You took part in this conversation, so someone else has to review it."


class ReviewSubject(NamedTuple):
    """Subject of a review; without ``inquiry`` the conversation. ``version`` identifies it."""

    conversation: Conversation
    inquiry: Inquiry | None
    version: str

    @property
    def anchor(self) -> str:
        return self.inquiry.anchor if self.inquiry else ""

    @property
    def key(self) -> str:
        """Identify the subject in an address, as ``QueueItem.key`` does."""
        return f"{self.conversation.pk}-{self.anchor}"

    @property
    def ledger_subject(self) -> str:
        """Name the object of a ledger entry."""
        if self.inquiry:
            return f"inquiry:{self.inquiry.pk}"
        return f"conversation:{self.conversation.pk}"


def load_question(inquiry: Inquiry) -> ReviewSubject:
    """Return a question as a subject. Its version is the hash of its events."""
    return ReviewSubject(inquiry.conversation, inquiry, _hash_question(inquiry))


def load_questions(
    conversation: Conversation, inquiries: Collection[Inquiry]
) -> list[ReviewSubject]:
    """Return questions of a conversation as subjects, as ``load_question`` does; one query."""
    positions = {position for row in inquiries for position in _list_positions(row)}
    entries = JournalEntry.objects.filter(conversation=conversation, position__in=positions)
    texts = dict(entries.values_list("position", "text"))
    return [
        ReviewSubject(
            conversation,
            row,
            hash_texts(texts[position] for position in _list_positions(row) if position in texts),
        )
        for row in inquiries
    ]


def load_conversation(conversation: Conversation) -> ReviewSubject:
    """Return a conversation as a subject. Its version changes with each event."""
    return ReviewSubject(conversation, None, conversation.version)


def build_change_condition() -> Q:
    """Return the condition of tasks whose conversation has no review of its present version.

    Their state is that of an earlier version. An escalation holds for later versions too.
    """
    revision, entry_count = (
        Cast(OuterRef(f"conversation__{name}"), CharField()) for name in ("revision", "entry_count")
    )
    present_reviews = Review.objects.filter(
        conversation_id=OuterRef("conversation_id"),
        anchor="",
        version=Concat(revision, Value("."), entry_count),
    )
    has_state = ~Q(state__in=(ReviewState.UNREVIEWED, ReviewState.ESCALATED))
    return Q(anchor="") & has_state & ~Q(Exists(present_reviews))


def reload(subject: ReviewSubject) -> ReviewSubject:
    """Return a subject as the database has it now. Raises Inquiry.DoesNotExist."""
    if subject.inquiry is None:
        return load_conversation(Conversation.objects.get(pk=subject.conversation.pk))
    rows = Inquiry.objects.select_related("conversation__workspace", "run")
    return load_question(rows.get(pk=subject.inquiry.pk))


def is_open(subject: ReviewSubject) -> bool:
    """Tell whether a question still waits for its outcome, so that there is nothing to review."""
    return subject.inquiry is not None and subject.inquiry.state == OPEN_STATE


def is_own(subject: ReviewSubject, person_id: int) -> bool:
    """Tell whether a review by this person would be a self-review.

    They answered or declined the question or started its turn, or took part in the conversation.
    """
    if subject.inquiry is not None:
        run = subject.inquiry.run
        return person_id in (subject.inquiry.decider_id, run.started_by_id if run else None)
    return bool(find_own_conversations([subject.conversation.pk], person_id))


def describe_own_part(subject: ReviewSubject, person_id: int) -> str:
    """Return why a person whose review would be a self-review may not give it."""
    if subject.inquiry is None:
        return _OWN_CONVERSATION_REFUSAL
    if subject.inquiry.decider_id != person_id:
        return _OWN_TURN_REFUSAL
    is_remembered = subject.inquiry.decided_by == MEMORY_DECIDER
    return _REMEMBERED_REFUSAL if is_remembered else _OWN_QUESTION_REFUSAL


def list_participants(subject: ReviewSubject, person_ids: Collection[int]) -> set[int]:
    """Return those people by whom a review would be a self-review; at most two queries."""
    if subject.inquiry is not None:
        return {key for key in person_ids if is_own(subject, key)}
    key = subject.conversation.pk
    in_conversation = Q(conversation_id=key)
    turns = Run.objects.filter(in_conversation).values_list("started_by_id", flat=True)
    responses = RunInterrupt.objects.filter(run__conversation_id=key, kind=InterruptKind.RESPOND)
    answers = Inquiry.objects.filter(in_conversation).values_list("decider_id", flat=True)
    approvals = Approval.objects.filter(in_conversation).values_list("decider_id", flat=True)
    involved_ids = turns.union(responses.values_list("person_id", flat=True), answers, approvals)
    return set(person_ids).intersection((subject.conversation.started_by_id, *involved_ids))


def find_own_conversations(conversation_ids: Collection[int], person_id: int) -> set[int]:
    """Return the keys of those conversations in which a person took part; one query.

    They started the conversation or one of its turns, responded to a turn that was running, or
    decided a question or an approval in it.
    """
    started_conversations = Conversation.objects.filter(
        pk__in=conversation_ids, started_by_id=person_id
    )
    in_conversations = Q(conversation_id__in=conversation_ids)
    turns = Run.objects.filter(in_conversations, started_by_id=person_id)
    responses = RunInterrupt.objects.filter(
        run__conversation_id__in=conversation_ids, kind=InterruptKind.RESPOND, person_id=person_id
    )
    answers = Inquiry.objects.filter(in_conversations, decider_id=person_id)
    approvals = Approval.objects.filter(in_conversations, decider_id=person_id)
    # Each part is read by its own index, unlike conditions of one query that are joined by OR.
    own_ids = started_conversations.values_list("pk", flat=True).union(
        turns.values_list("conversation_id", flat=True),
        responses.values_list("run__conversation_id", flat=True),
        answers.values_list("conversation_id", flat=True),
        approvals.values_list("conversation_id", flat=True),
    )
    return set(own_ids)


def hash_content(subject: ReviewSubject) -> str:
    """Return the SHA-256 of the subject: of the question's events, or of all events.

    It is the hash of the hashes of the stored texts, a line each, in the order of the journal.
    """
    if subject.inquiry is not None:
        return _hash_question(subject.inquiry)
    entries = JournalEntry.objects.filter(conversation=subject.conversation)
    texts = entries.order_by("position").values_list("text", flat=True)
    return hash_texts(texts.iterator(_FETCH_ENTRIES))


def _hash_question(inquiry: Inquiry) -> str:
    entries = JournalEntry.objects.filter(
        conversation_id=inquiry.conversation_id, position__in=_list_positions(inquiry)
    )
    return hash_texts(entries.order_by("position").values_list("text", flat=True))


def _list_positions(inquiry: Inquiry) -> list[int]:
    """Return the positions of a question's events, in the order of the journal."""
    positions = (inquiry.position, inquiry.response_position)
    return sorted(position for position in positions if position is not None)


def hash_texts(texts: Iterable[str]) -> str:
    """Return the version of a question, or the hash of a conversation, of its events' texts."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(f"{ledger_verifier.hash_text(text)}\n".encode())
    return digest.hexdigest()

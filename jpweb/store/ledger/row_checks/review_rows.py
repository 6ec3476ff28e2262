"""Compares the rows of reviews with the entries that have the hashes of verdict and note."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

from django.db.models import Count

from jpweb.evidence import record_checks
from jpweb.evidence.ledger_verifier import Problem
from jpweb.store.choices import Act
from jpweb.store.ledger.entries import read_details
from jpweb.store.ledger.row_checks.row_differences import (
    ChainedAct,
    describe_differences,
    has_redaction,
    is_decider_same,
)
from jpweb.store.masking.replacement import REDACTION_MARKER
from jpweb.store.models import LedgerEntry, Review

#: Rows that are fetched at once, and conversations whose reviews are counted at once.
_BATCH_ROWS, _BATCH_CONVERSATIONS = 500, 500
_MARKER_START = REDACTION_MARKER.partition("{")[0]
#: The conversation of a review, and the hash of its verdict and note.
_ReviewKey: TypeAlias = tuple[int, str]


class UnrecordedReview(Problem):
    """A review that no entry has; ``sequence`` is the key of its row."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"review {self.sequence}: {self.text}"


class ReviewComparison:
    """Compares entries of reviews with their rows, a batch at a time."""

    def __init__(self) -> None:
        #: Rows whose note a redaction changed: each is that of one entry.
        self._redacted_ids: set[int] = set()

    def compare_batch(
        self, acts: Sequence[ChainedAct], anchors: Mapping[int, str]
    ) -> Iterator[Problem]:
        """Yield the reviews that are gone or changed; ``anchors`` are those of questions by key."""
        missing_acts = {_make_key(act): act for act in acts}
        reviews = Review.objects.filter(conversation__in={act.conversation_id for act in acts})
        for row in reviews.order_by().iterator(_BATCH_ROWS) if acts else ():
            act = missing_acts.pop((row.conversation_id, _hash_review(row)), None)
            if act is not None:
                yield from _compare_columns(act, row, anchors)
        for act in missing_acts.values():
            yield from self._explain_missing(act, anchors)

    def _explain_missing(self, act: ChainedAct, anchors: Mapping[int, str]) -> Iterator[Problem]:
        """Find the row whose verdict or note was changed: no entry has its hash."""
        hashes = _list_recorded_hashes(act.conversation_id)
        content = act.details.get("round"), act.details.get("content_hash")
        candidates = [
            row
            for row in Review.objects.filter(conversation=act.conversation_id).order_by("pk")
            if (row.round, row.content_hash) == content
            and row.pk not in self._redacted_ids
            and _hash_review(row) not in hashes
        ]
        candidates.sort(
            key=lambda row: not is_decider_same(act, row.reviewer_name, row.reviewer_id)
        )
        if not candidates:
            yield Problem(act.sequence, "the row of its review is gone, or has other content")
            return
        row = candidates[0]
        if _is_redacted(row):
            self._redacted_ids.add(row.pk)
            yield from _compare_columns(act, row, anchors)
        else:
            name = f"the row of review {row.pk}"
            yield Problem(act.sequence, f"{name} was changed: its verdict or note differs")

    def find_unrecorded(self) -> Iterator[Problem]:
        """Yield the reviews that have no entry, of conversations that have more than entries.

        Rows are counted before entries: each review is inserted with its entry.
        """
        counts = (
            Review.objects.values_list("conversation_id")
            .annotate(count=Count("pk"))
            .order_by("conversation_id")
            .iterator(_BATCH_CONVERSATIONS)
        )
        while batch := dict(islice(counts, _BATCH_CONVERSATIONS)):
            entry_counts = _count_entries(batch)
            for conversation_id, count in batch.items():
                if count > entry_counts.get(conversation_id, 0):
                    yield from self._name_unrecorded(conversation_id)

    def _name_unrecorded(self, conversation_id: int) -> Iterator[Problem]:
        hashes = _list_recorded_hashes(conversation_id)
        imported_count = _count_imported([conversation_id]).get(conversation_id, 0)
        rows = Review.objects.filter(conversation=conversation_id).order_by("pk")
        for row in list(rows)[imported_count:]:
            review_hash = _hash_review(row)
            if review_hash in hashes:
                hashes.remove(review_hash)
            elif row.pk not in self._redacted_ids:
                yield UnrecordedReview(row.pk, "no entry of the ledger has it: it was inserted")


def _hash_review(row: Review) -> str:
    return record_checks.hash_review(row.verdict, row.note, row.nonce)


def _make_key(act: ChainedAct) -> _ReviewKey:
    return act.conversation_id, str(act.details.get("review_hash"))


def _compare_columns(act: ChainedAct, row: Review, anchors: Mapping[int, str]) -> Iterator[Problem]:
    is_of_question = act.subject_kind == "inquiry"
    # jp may have rewritten a mirrored conversation: then the question has another row.
    anchor = anchors.get(act.subject_id, row.anchor or "?") if is_of_question else ""
    details = act.details
    yield from describe_differences(
        act,
        f"review {row.pk}",
        {
            "subject": row.anchor == anchor,
            "verdict": row.verdict == details.get("verdict", row.verdict),
            "round": row.round == details.get("round"),
            "content": row.content_hash == details.get("content_hash"),
            "version": not is_of_question or row.version == row.content_hash,
            "reviewer": is_decider_same(act, row.reviewer_name, row.reviewer_id),
        },
    )


def _is_redacted(row: Review) -> bool:
    """Tell whether a redaction replaced a part of a note: that removes the nonce of its hash."""
    is_marked = not row.nonce and _MARKER_START in row.note
    return is_marked and has_redaction(row.conversation_id)


def _list_recorded_hashes(conversation_id: int) -> set[str]:
    entries = LedgerEntry.objects.filter(conversation_id=conversation_id, act=Act.REVIEWED)
    texts = entries.values_list("text", "text_hash").iterator(_BATCH_ROWS)
    return {str(read_details(*columns).get("review_hash")) for columns in texts}


def _count_entries(conversation_ids: Collection[int]) -> dict[int, int]:
    """Return the number of reviews that the ledger says a conversation has, imported ones too."""
    entries = LedgerEntry.objects.filter(conversation_id__in=conversation_ids, act=Act.REVIEWED)
    groups = entries.order_by().values_list("conversation_id").annotate(count=Count("pk"))
    counts: dict[int, int] = dict(groups)
    for conversation_id, count in _count_imported(conversation_ids).items():
        counts[conversation_id] = counts.get(conversation_id, 0) + count
    return counts


def _count_imported(conversation_ids: Collection[int]) -> dict[int, int]:
    entries = LedgerEntry.objects.filter(
        conversation_id__in=conversation_ids, act=Act.EVIDENCE_IMPORTED
    )
    counts: dict[int, int] = {}
    for key, text, text_hash in entries.values_list("conversation_id", "text", "text_hash"):
        count = read_details(text, text_hash).get("reviews", 0)
        counts[key or 0] = count if isinstance(count, int) else 0
    return counts

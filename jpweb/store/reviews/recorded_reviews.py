"""The reviews that entries of the ledger record, as a person may see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jpweb.store.choices import Act
from jpweb.store.ledger.entries import parse_content
from jpweb.store.models import LedgerEntry, Review
from jpweb.store.reviews.reviews import DECISION, FIRST, SECOND, hash_review


def load_shown_reviews(entries: Sequence[LedgerEntry], person_id: int) -> dict[int, Review]:
    """Return the reviews that entries record, by the entry's key; one query.

    A review that waits for the blind second one is left out, unless the person gave it or an owner
    has decided. So is one that was redacted: the entry has another hash.
    """
    details_by_key = {
        entry.pk: parse_content(entry.text).get("details", {})
        for entry in entries
        if entry.act == Act.REVIEWED
    }
    if not details_by_key:
        return {}
    rows = Review.objects.filter(
        conversation_id__in={entry.conversation_id for entry in entries},
        content_hash__in={details.get("content_hash", "") for details in details_by_key.values()},
    )
    return _match_reviews(details_by_key, list(rows), person_id)


def _match_reviews(
    details_by_key: Mapping[int, Mapping[str, object]], rows: Sequence[Review], person_id: int
) -> dict[int, Review]:
    rounds = {(row.conversation_id, row.anchor, row.version, row.round) for row in rows}
    shown_rows = {}
    for row in rows:
        place = row.conversation_id, row.anchor, row.version
        is_complete = {(*place, FIRST), (*place, SECOND)} <= rounds or (*place, DECISION) in rounds
        if row.rounds_required < SECOND or is_complete or row.reviewer_id == person_id:
            shown_rows[hash_review(row)] = row
    return {
        key: shown_rows[review_hash]
        for key, details in details_by_key.items()
        if (review_hash := str(details.get("review_hash"))) in shown_rows
    }

"""The reviews that entries of the ledger record, as a person may see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db.models import Exists, OuterRef

from jpweb.store.choices import Act
from jpweb.store.ledger.entries import parse_content
from jpweb.store.models import LedgerEntry, Review
from jpweb.store.reviews.reviews import hash_review, list_disclosed


def load_shown_reviews(entries: Sequence[LedgerEntry], person_id: int) -> dict[int, Review]:
    """Return the reviews that entries record, by the entry's key; one query.

    A review that ``list_disclosed`` leaves out is so here, unless the person gave it. One that was
    redacted is left out too: the entry has another hash.
    """
    details_by_key = {
        entry.pk: parse_content(entry.text).get("details", {})
        for entry in entries
        if entry.act == Act.REVIEWED
    }
    if not details_by_key:
        return {}
    in_conversations = Review.objects.filter(
        conversation_id__in={entry.conversation_id for entry in entries}
    )
    # With the reviews of later versions, which disclose those of earlier ones.
    recorded_reviews = Review.objects.filter(
        conversation_id=OuterRef("conversation_id"),
        anchor=OuterRef("anchor"),
        content_hash__in={details.get("content_hash", "") for details in details_by_key.values()},
    )
    rows = in_conversations.filter(Exists(recorded_reviews)).order_by("pk")
    return _match_reviews(details_by_key, list(rows), person_id)


def _match_reviews(
    details_by_key: Mapping[int, Mapping[str, object]], rows: Sequence[Review], person_id: int
) -> dict[int, Review]:
    disclosed_keys = list_disclosed(rows)
    shown_rows = {
        hash_review(row): row
        for row in rows
        if row.pk in disclosed_keys or row.reviewer_id == person_id
    }
    return {
        key: shown_rows[review_hash]
        for key, details in details_by_key.items()
        if (review_hash := str(details.get("review_hash"))) in shown_rows
    }

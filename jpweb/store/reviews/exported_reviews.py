"""Reviews of exported inquiries, as the person who exports may see them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from django.db.models import Exists, Max, OuterRef, QuerySet, Subquery

from jpweb.store import audit
from jpweb.store.audit import AuditFilters, ReviewedInquiry
from jpweb.store.models import Inquiry, JournalEntry, Review
from jpweb.store.reviews import subjects
from jpweb.store.reviews.reviews import list_disclosed

#: The key of a conversation, and the anchor of its question; "": the conversation as a whole.
Place: TypeAlias = tuple[int, str]


class Reviewer(NamedTuple):
    """A reviewer; without a key the account was deleted, or the review was imported."""

    person_id: int | None
    name: str

    @property
    def key(self) -> int | str:
        """Identify the reviewer, also where their name has changed."""
        return self.person_id or self.name


class ExportedReview(NamedTuple):
    """The latest review of a place by one reviewer. ``round`` is 1, 2 or 3.

    A hidden one waits for the blind second review: its reader must see neither verdict nor note.
    So does one whose verdict an imported bundle withheld. An outdated one is of an earlier version.
    """

    reviewer: Reviewer
    round: int
    verdict: str
    note: str
    reviewed_at: datetime
    is_hidden: bool
    is_outdated: bool


class ExportedReviews:
    """The reviews of the inquiries that match filters, for the person with this key."""

    def __init__(self, person_id: int, filters: AuditFilters) -> None:
        self._person_id = person_id
        self._filters = filters

    def list_reviewers(self) -> list[Reviewer]:
        """Return the reviewers of the inquiries, by name; one query."""
        inquiries = audit.list_inquiries(self._person_id, self._filters).order_by()
        reviewed_inquiries = inquiries.filter(
            conversation_id=OuterRef("conversation_id"), anchor=OuterRef("anchor")
        )
        rows = Review.objects.filter(Exists(reviewed_inquiries)).values_list(
            "reviewer_id", "reviewer_name"
        )
        rows_by_age = rows.annotate(newest=Max("pk")).order_by("newest")
        return _sort_reviewers(Reviewer(person_id, name) for person_id, name, _ in rows_by_age)

    def load_reviews(
        self, rows: Sequence[ReviewedInquiry]
    ) -> dict[int, dict[int | str, ExportedReview]]:
        """Return the latest review by reviewer, by the inquiry's key; one query."""
        keys = {(row.conversation_id, row.anchor): row.pk for row in rows}
        rows_by_place = load_reviews(self._person_id, keys)
        return {keys[place]: reviews for place, reviews in rows_by_place.items()}


def list_reviewers(places: Collection[Place]) -> list[Reviewer]:
    """Return the reviewers of these places, by name; one query."""
    rows = Review.objects.filter(conversation_id__in={key for key, _ in places}).order_by("pk")
    columns = rows.values_list("conversation_id", "anchor", "reviewer_id", "reviewer_name")
    return _sort_reviewers(
        Reviewer(person_id, name)
        for conversation_id, anchor, person_id, name in columns
        if (conversation_id, anchor) in places
    )


def load_reviews(
    person_id: int, places: Collection[Place]
) -> dict[Place, dict[int | str, ExportedReview]]:
    """Return the latest review by reviewer, by place; one query."""
    rows_by_place: dict[Place, list[Review]] = defaultdict(list)
    reviews = Review.objects.filter(
        conversation_id__in={conversation_id for conversation_id, _ in places},
        anchor__in={anchor for _, anchor in places},
    )
    for review in _annotate_subjects(reviews).order_by("pk"):
        place = review.conversation_id, review.anchor
        if place in places:
            rows_by_place[place].append(review)
    return {place: _describe_reviews(person_id, rows) for place, rows in rows_by_place.items()}


def _annotate_subjects(reviews: QuerySet[Review]) -> QuerySet[Review]:
    """Have each review name what it is of as it is now, of which ``_is_outdated`` makes a version.

    That is the texts of the question's events, or the version of the conversation.
    """
    inquiries = Inquiry.objects.filter(
        conversation_id=OuterRef(OuterRef("conversation_id")), anchor=OuterRef(OuterRef("anchor"))
    )

    def find_text(column: str) -> Subquery:
        entries = JournalEntry.objects.filter(
            conversation_id=OuterRef("conversation_id"),
            position=Subquery(inquiries.values(column)[:1]),
        )
        return Subquery(entries.values("text")[:1])

    return reviews.annotate(
        request_text=find_text("position"), response_text=find_text("response_position")
    ).select_related("conversation")


def _is_outdated(row: Any) -> bool:
    """Tell whether an annotated review is of an earlier version; False where it names none."""
    if row.anchor:
        texts = (row.request_text, row.response_text)
        version = subjects.hash_texts(text for text in texts if text is not None)
    else:
        version = row.conversation.version
    return bool(row.verdict) and row.version != version


def _sort_reviewers(reviewers: Iterable[Reviewer]) -> list[Reviewer]:
    """Return each reviewer once, with the name of their newest review."""
    by_key = {reviewer.key: reviewer for reviewer in reviewers}
    return sorted(by_key.values(), key=lambda row: (row.name, row.person_id or 0))


def _describe_reviews(person_id: int, rows: list[Review]) -> dict[int | str, ExportedReview]:
    disclosed_keys = list_disclosed(rows)
    exported_reviews: dict[int | str, ExportedReview] = {}
    for row in rows:
        reviewer = Reviewer(row.reviewer_id, row.reviewer_name)
        exported_reviews[reviewer.key] = ExportedReview(
            reviewer,
            row.round,
            row.verdict,
            row.note,
            row.reviewed_at,
            not row.verdict or not (row.pk in disclosed_keys or row.reviewer_id == person_id),
            is_outdated=_is_outdated(row),
        )
    return exported_reviews

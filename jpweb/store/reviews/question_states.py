"""States of reviewed questions, which jp changes by writing other events in their place."""

from __future__ import annotations

from collections import defaultdict

from jpweb.store.models import Conversation, Inquiry, Review, ReviewTask
from jpweb.store.reviews import subjects
from jpweb.store.reviews.reviews import FIRST, ReviewHistory

#: Questions whose events are read at once.
_BATCH_QUESTIONS = 500


def refresh_states(conversation: Conversation) -> None:
    """Store the states that the reviews of a conversation's questions have by their events now.

    The caller has locked the conversation. One query where no question was reviewed.
    """
    rows_by_anchor: defaultdict[str, list[Review]] = defaultdict(list)
    reviews = Review.objects.filter(conversation=conversation, anchor__gt="")
    for review in reviews.order_by("pk"):
        rows_by_anchor[review.anchor].append(review)
    anchors = sorted(rows_by_anchor)
    for start in range(0, len(anchors), _BATCH_QUESTIONS):
        batch_anchors = anchors[start : start + _BATCH_QUESTIONS]
        inquiries = Inquiry.objects.filter(conversation=conversation, anchor__in=batch_anchors)
        histories = {
            subject.anchor: ReviewHistory(
                subject, rows_by_anchor[subject.anchor], conversation.workspace.reviews_required
            )
            for subject in subjects.load_questions(conversation, list(inquiries))
        }
        _store_states(conversation, histories)


def _store_states(conversation: Conversation, histories: dict[str, ReviewHistory]) -> None:
    tasks = ReviewTask.objects.filter(conversation=conversation, anchor__in=histories)
    for task in tasks.select_for_update().order_by("pk"):
        history = histories[task.anchor]
        first_review, state = history.find_latest(FIRST), history.state
        first_reviewer_id = first_review.reviewer_id if first_review else None
        stored_values = (task.state, task.verdict, task.first_reviewer_id)
        if stored_values != (*state, first_reviewer_id):
            task.state, task.verdict = state
            task.first_reviewer_id = first_reviewer_id
            task.save(update_fields=["state", "verdict", "first_reviewer"])

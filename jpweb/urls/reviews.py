"""URL patterns of reviews of questions and conversations."""

from __future__ import annotations

from django.urls import path

from jpweb.urls.prefixes import CONVERSATION, QUESTION, WORKSPACE
from jpweb.web.views import questions
from jpweb.web.views.audit import conversation_reviews, review_queues
from jpweb.web.views.workspaces import question_settings

_QUEUE = "audit/reviews/<slug:queue_name>"

urlpatterns = [
    path("audit/reviews", review_queues.list_queues, name="reviews"),
    path(_QUEUE, review_queues.show_queue, name="review-queue"),
    path(f"{_QUEUE}.csv", review_queues.export_queue_csv, name="review-queue-csv"),
    path(f"{_QUEUE}.jsonl", review_queues.export_queue_lines, name="review-queue-jsonl"),
    path(
        f"{_QUEUE}/evidence.zip",
        review_queues.export_queue_evidence,
        name="review-queue-evidence",
    ),
    path(f"{_QUEUE}/next", review_queues.open_next, name="review-next"),
    path(f"{QUESTION}/review", questions.review_question, name="question-review"),
    path(
        f"{QUESTION}/review/start",
        questions.start_review,
        name="question-review-start",
    ),
    path(
        f"{QUESTION}/review/assign",
        questions.assign_review,
        name="question-review-assign",
    ),
    path(f"{CONVERSATION}/reviews", conversation_reviews.show_reviews, name="conversation-reviews"),
    path(
        f"{CONVERSATION}/review",
        conversation_reviews.review_conversation,
        name="conversation-review",
    ),
    path(
        f"{CONVERSATION}/review/start",
        conversation_reviews.start_review,
        name="conversation-review-start",
    ),
    path(
        f"{CONVERSATION}/review/assign",
        conversation_reviews.assign_review,
        name="conversation-review-assign",
    ),
    path(
        f"{WORKSPACE}/reviews",
        question_settings.choose_review_count,
        name="review-count-choose",
    ),
]

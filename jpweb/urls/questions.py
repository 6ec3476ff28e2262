"""URL patterns of questions, approvals and answer links."""

from __future__ import annotations

from django.urls import path

from jpweb.urls.prefixes import APPROVAL, QUESTION
from jpweb.web.views import answer_links, approvals, questions

urlpatterns = [
    path("questions", questions.list_questions, name="questions"),
    path(QUESTION, questions.show_question, name="question"),
    path(
        f"{QUESTION}/context",
        questions.show_question_context,
        name="question-context",
    ),
    path(f"{QUESTION}/answer", questions.answer_question, name="question-answer"),
    path(
        f"{QUESTION}/claim/choose",
        questions.choose_claim,
        name="question-claim-choose",
    ),
    path(f"{QUESTION}/claim", questions.claim_question, name="question-claim"),
    path(f"{QUESTION}/release", questions.release_claim, name="question-release"),
    path(
        f"{QUESTION}/snooze/choose",
        questions.choose_snooze,
        name="question-snooze-choose",
    ),
    path(f"{QUESTION}/snooze", questions.snooze_question, name="question-snooze"),
    path(f"{QUESTION}/wake", questions.wake_question, name="question-wake"),
    path(f"{QUESTION}/decline", questions.decline_question, name="question-decline"),
    path(
        f"{QUESTION}/notification",
        questions.show_notification_buttons,
        name="question-notification",
    ),
    path(
        f"{QUESTION}/notification/answer",
        questions.answer_by_notification,
        name="question-answer-by-notification",
    ),
    path(APPROVAL, approvals.show_approval, name="approval"),
    path(f"{APPROVAL}/allow", approvals.allow_call, name="approval-allow"),
    path(
        f"{APPROVAL}/claim/choose",
        approvals.choose_claim,
        name="approval-claim-choose",
    ),
    path(f"{APPROVAL}/claim", approvals.claim_approval, name="approval-claim"),
    path(f"{APPROVAL}/release", approvals.release_claim, name="approval-release"),
    path(f"{APPROVAL}/refuse", approvals.deny_call, name="approval-deny"),
    path("answer/<str:token>", answer_links.answer_by_link, name="answer-link"),
]

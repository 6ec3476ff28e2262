"""Labels of reviews: verdicts, states, rounds and queues."""

from __future__ import annotations

from collections.abc import Mapping

from jpweb.store.choices import ReviewState, Verdict

#: Labels of verdicts with their meaning, in the order of forms.
VERDICT_LABELS: Mapping[str, tuple[str, str]] = {
    Verdict.FINE: ("Fine", "nothing to do"),
    Verdict.QUESTIONABLE: ("Questionable", "someone should explain it"),
    Verdict.WRONG: ("Wrong", "it should have ended otherwise"),
    Verdict.ESCALATE: ("Escalate", "an owner has to look at it"),
}
STATE_LABELS: Mapping[str, str] = {
    ReviewState.UNREVIEWED: "Not reviewed",
    ReviewState.PARTIAL: "1 of 2 reviews",
    ReviewState.DONE: "Reviewed",
    ReviewState.DISAGREED: "Reviewers disagree",
    ReviewState.ESCALATED: "Escalated to the owners",
}
#: Titles and descriptions of review queues, by name.
QUEUE_LABELS: Mapping[str, tuple[str, str]] = {
    "assigned": ("Assigned to you", "questions and conversations that an auditor gave you"),
    "second": ("Waiting for a second review", "reviewed by one person who isn't you"),
    "disagreed": (
        "Disagreements",
        "two reviewers came to different verdicts; what one escalated is in “Escalated” instead",
    ),
    "escalated": ("Escalated", "needs a decision by an owner who hasn't reviewed it"),
    "cancelled": ("Cancelled", "closed without an answer"),
    "late": ("Answered late", "waited for more than an hour"),
    "overridden": ("Overridden", "a setting or the operator decided in place of a person"),
    "automatic": (
        "Answered automatically",
        "by a configured value or override, a remembered answer or a second model",
    ),
    "secret": ("Secret questions", "questions for a secret"),
    "sample": ("Random sample", "one in 20 questions, different ones each week"),
}
#: Labels of the rounds of a review.
ROUND_LABELS: Mapping[int, str] = {
    1: "First review",
    2: "Second review",
    3: "Owner's decision",
}
#: Labels of a review where no second one is needed: on record, and in the form.
ONLY_REVIEW_LABEL, OWN_REVIEW_LABEL = "Review", "Your review"
#: Labels of the numbers of reviews that a workspace can ask for.
REVIEW_COUNT_LABELS: Mapping[int, str] = {
    1: "One review",
    2: "Two reviews by different people",
}

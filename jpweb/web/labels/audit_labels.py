"""Labels of the audit's tables."""

from __future__ import annotations

#: The columns of the table of questions by name, in their order.
COLUMN_LABELS = (
    ("asked", "When"),
    ("question", "Question"),
    ("asker", "Asked by"),
    ("outcome", "Outcome"),
    ("decider", "Decided by"),
    ("waited", "Wait time"),
    ("shown", "Seen by"),
    ("review", "Review"),
    ("conversation", "Conversation"),
)
#: How many people had a question on their screen, of those whose pages it was sent to.
SHOWING = "{seen_count} of {delivered_count}"
NEVER_SHOWN = "Not shown"
#: In its place where jp asked, which does not report receipts.
SHOWN_IN_JP = "Asked in jp"
#: The subject of a decision about a conversation.
CONVERSATION_SUBJECT = "Whole conversation"
#: The types of deciders, as a filter and in charts.
DECIDER_KIND_LABELS = {
    "person": "A person",
    "configuration": "Configured value",
    "operator": "Operator",
    "memory": "Remembered answer",
    "assistant": "Second model",
    "system": "jpweb",
}
#: The lane of a day's deciders that have none of their own.
OTHER_DECIDERS = "Others"
#: The views of the decisions, by the name in an address.
DECISION_VIEW_LABELS = (("", "Table"), ("timeline", "Timeline"))
#: A quick range of the filters.
LAST_DAYS = "Last {day_count} days"

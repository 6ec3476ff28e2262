"""Labels: the words of tags, values and counts on every page.

Sentences with which forms and views respond are in ``notice_text``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

from django.utils import dateformat
from django.utils.timesince import timesince

from jpweb.store import approvals
from jpweb.store.choices import FilesState, Origin, WritePolicy
from jpweb.store.conversation_list.filters import Sort
from jpweb.store.database import clock

#: The title of a conversation that has none.
UNTITLED = "Untitled"

STATE_LABELS = {
    "open": ("Waiting", "●"),
    "answered": ("Answered", "✓"),
    "redacted": ("Redacted", "■"),
    "cancelled": ("Cancelled", "⊘"),
    "unanswered": ("Unanswered", "○"),
}

SOURCE_LABELS = {
    "tool": "Tool",
    "assistant": "Assistant",
    "user": "User",
    "other": "Other",
}

#: Labels of a question's answer types, by tag.
ANSWER_TYPE_LABELS = {
    "boolean": "Yes or no",
    "select": "Choice",
    "text": "Text",
    "secret": "Secret",
}

#: Provider failures with a remedy, by kind.
FAILURE_TEXTS = {
    "context_length": "The conversation is too long for the model. Start a new one.",
    "rate_limit": "The provider's rate limit was reached. Try again soon.",
    "refusal": "The model refused to reply.",
    "truncated": "The reply reached its length limit, or a tool call in it can't be read.",
    "wrong_key": "The provider's API key or address can't be used.",
    "unavailable": "The provider can't be reached or is overloaded. Try again soon.",
    "broken_off": "The reply ended before it was complete.",
    "bad_request": "The provider rejected the request. Trying again won't help.",
}

#: Labels and marks of decided approvals, by kind and whether they were allowed.
DECISION_LABELS = {
    ("run", True): ("Allowed", "✓"),
    ("run", False): ("Denied", "⊘"),
    ("deliver", True): ("Sent to the model", "✓"),
    ("deliver", False): ("Not sent to the model", "⊘"),
}

#: Headings of open approvals, by kind.
APPROVAL_TEXTS = {
    "run": "Tool call needs approval",
    "deliver": "Result needs review",
}

#: Labels of a call without a result, by the kind of the open approval for which it waits; "" for
#: none.
_WAITING_CALL_LABELS = {
    "run": "Waiting for approval",
    "deliver": "Result needs review",
    "": "No result yet",
}

#: Labels of the policies for saving jpweb's conversations to the workspace too.
WRITE_POLICY_LABELS = {
    WritePolicy.OFF: "No",
    WritePolicy.CURRENT: "Yes, for a jp that records how questions end",
    WritePolicy.COMPATIBLE: "Yes, readable by an older jp",
}

#: Labels of the kinds of items that an owner can trust.
TRUST_KIND_LABELS = {
    "tool": "Tool command",
    "formatter": "Argument formatter command",
    "server": "MCP server",
    "provider": "Provider address and key",
}

TRUST_STATUS_LABELS = {
    "trusted": "trusted",
    "new": "not trusted yet",
    "changed": "changed since it was trusted",
}

#: Reasons why a tool is not offered, short for a table.
UNAVAILABLE_LABELS = {
    "OFF": "disabled",
    "NEW": "not trusted yet",
    "CHANGED": "changed since it was trusted",
    "SERVER_NEW": "its server is not trusted yet",
    "SERVER_CHANGED": "its server changed since it was trusted",
    "NO_SERVER": "its server is not configured",
    "NO_BUILTIN": "unknown built-in tool",
    "BROKEN": "invalid configuration",
}

#: Labels of a question's receipts, by column, in chronological order.
RECEIPT_LABELS = {
    "delivered_at": "Delivered to",
    "visible_at": "Seen by",
    "focused_at": "Focused by",
    "draft_at": "Draft started by",
}

#: Labels of each sort order of the conversation list, of its next page and of its previous page.
LIST_SORT_LABELS = {
    Sort.ACTIVITY: ("Last activity", "Older conversations", "Newer conversations"),
    Sort.WAITING: ("Longest waiting", "Shorter waits", "Longer waits"),
    Sort.LENGTH: ("Most events", "Shorter conversations", "Longer conversations"),
}

ORIGIN_LABELS = {
    Origin.NATIVE: "Web",
    Origin.MIRRORED: "From jp",
    Origin.IMPORTED: "Imported evidence (read-only)",
}

#: Whether the files of a workspace are mirrored; the page says more of some.
FILES_STATE_LABELS = {
    FilesState.READING: "Reading conversations",
    FilesState.INTERRUPTED: "Reading stopped",
    FilesState.FAILED: "Reading failed",
    FilesState.FOLLOWED: "Followed",
    FilesState.STOPPED: "Not followed: an owner stopped it",
    FilesState.MISSING: "Not followed: the folder or its .jp is missing",
    FilesState.BUILT_IN: "Part of jpweb",
}

#: Labels of the events that a person steps through.
STEP_LABELS = {"item": "event", "prompt": "prompt", "inquiry": "question", "problem": "problem"}

#: Labels of the parts of a turn's time, and of its problems.
TIME_LABELS = {
    "model": "Model",
    "tool": "Tools",
    "waiting": "Waiting for people",
    "problem": "Problems",
}

#: Labels of the event filter's presets, by name.
FILTER_PRESET_LABELS = {
    "messages": "Messages",
    "questions": "Questions",
    "problems": "Problems",
}

#: Labels of the event filter's groups, by name.
FILTER_GROUP_LABELS = {
    "person": "Prompts",
    "assistant": "Assistant",
    "reasoning": "Reasoning",
    "tools": "Tool calls and results",
    "questions": "Questions and outcomes",
    "configuration": "Configuration and compaction",
    "rest": "Legacy, unknown or unreadable",
    "problems": "Problems",
}

#: Labels of the search filter ``kind``, by value.
SEARCH_KIND_LABELS = {
    "title": "Titles and labels",
    "person": "Prompts",
    "assistant": "Assistant",
    "reasoning": "Reasoning",
    "tool": "Tool calls",
    "result": "Results",
    "failure": "Failed results",
    "question": "Questions",
    "outcome": "Outcomes",
    "summary": "Summaries",
}

#: Orders of search results; the first applies where words are searched for.
SEARCH_SORT_LABELS = {"best": "Best match first", "newest": "Newest first"}

#: Example queries with their meaning.
QUERY_EXAMPLES = (
    ("watering plan", "both words, in any form; best match first"),
    ('"one o\'clock"', "the exact phrase"),
    ("config*", "words that start with config"),
    ("patch -reasoning", "with patch, without reasoning"),
    ("kind:question outcome:cancelled reason:user", "questions that a person declined"),
    ("tool:fs kind:failure", "failed calls of tools whose names start with fs"),
    ("in:demo who:ada after:2026-01 before:2026-05", "by workspace, person and date"),
)

#: Labels of search hits, by category.
HIT_CATEGORY_LABELS = {
    "title": "Conversation",
    "person": "Prompt",
    "message": "Assistant",
    "structure": "Assistant (data)",
    "reasoning": "Reasoning",
    "call": "Tool call",
    "result": "Result",
    "failure": "Failed result",
    "question": "Question",
    "outcome": "Outcome",
    "dropped": "Outcome",
    "compaction": "Summary",
}

EVENT_KIND_LABELS = {
    "turn_start": "Turn start",
    "chat_request": "Prompt",
    "chat_response": "Assistant",
    "tool_call_request": "Tool call",
    "tool_call_response": "Result",
    "inquiry_request": "Question",
    "inquiry_response": "Outcome",
    "config_delta": "Configuration change",
    "compaction": "Compaction",
}
#: Singular and plural labels of counted events, by category and by other counts.
COUNT_LABELS = {
    "turn": ("turn start", "turn starts"),
    "person": ("prompt", "prompts"),
    "message": ("message", "messages"),
    "structure": ("structured output", "structured outputs"),
    "reasoning": ("reasoning block", "reasoning blocks"),
    "call": ("tool call", "tool calls"),
    "result": ("result", "results"),
    "failure": ("failed result", "failed results"),
    "stray": ("result without a call", "results without a call"),
    "question": ("question with its outcome", "questions with their outcomes"),
    "outcome": ("outcome without a question", "outcomes without a question"),
    "dropped": ("outcome without a question", "outcomes without a question"),
    "configuration": ("configuration change", "configuration changes"),
    "compaction": ("compaction", "compactions"),
    "legacy": ("legacy event", "legacy events"),
    "unknown": ("event of an unknown type", "events of an unknown type"),
    "broken": ("unreadable event", "unreadable events"),
}

#: Effects of a compaction on a turn.
SUMMARIZED = "replaced by a summary"
REASONING_OMITTED = "reasoning omitted"
CALLS_OMITTED = "tool calls omitted"
ARGUMENTS_OMITTED = "tool call arguments omitted"
RESULTS_OMITTED = "tool results omitted"

#: Labels of messages to the model, by role.
ROLE_LABELS = {"user": "User", "assistant": "Assistant", "tool": "Tool result"}

#: Titles of messages to the model.
CALL_TITLE, DATA_TITLE, REASONING_TITLE = "tool call {name}", "structured output", "reasoning"

#: Singular and plural labels of units of time, by their seconds, in descending order.
UNIT_LABELS = {
    86_400: ("day", "days"),
    3_600: ("hour", "hours"),
    60: ("minute", "minutes"),
    1: ("second", "seconds"),
}

NEVER_EXPIRE_LABEL, CUSTOM_EXPIRY_LABEL = "Never expire (default)", "Custom"

#: Labels of links that are shown once.
INVITATION_LINK_LABEL, SIGN_IN_LINK_LABEL = "invitation link", "sign-in link"

#: The title of a built-in tool's settings, which run no command.
BUILTIN_TRUST_LABEL = "Approval settings of a built-in tool"

SECRET_REQUESTED = "Secret requested"  # noqa: S105  a label


def describe_decision(kind: str, state: str, record: Mapping[str, object]) -> tuple[str, str, str]:
    """Return an approval's outcome tag, its label and its mark."""
    if state != "decided":  # an open one has a card, unless it was imported
        return "unanswered", "Not decided" if state == "open" else "Withdrawn", "○"
    is_allowed = record.get("allow") is True
    label, mark = DECISION_LABELS[kind, is_allowed]
    if approvals.is_edited(record):
        label += ", edited"
    if record.get("remember") is True:
        label += ", for this turn"
    return ("answered" if is_allowed else "skipped"), label, mark


def describe_waiting_call(kind: str = "") -> str:
    """Return the label of a call without a result; ``kind`` is that of its open approval."""
    return _WAITING_CALL_LABELS[kind]


def describe_counts(counts: Mapping[str, int]) -> list[str]:
    """Return each non-zero count of events with its label."""
    return [
        f"{counts[name]:,} {singular if counts[name] == 1 else plural}"
        for name, (singular, plural) in COUNT_LABELS.items()
        if counts.get(name)
    ]


def describe_result_count(count: int, limit: int) -> str:
    """Return the number of search results; above the limit it was not counted further."""
    if count > limit:
        return f"More than {limit} results"
    return f"{count} result{'' if count == 1 else 's'}" if count else "No results"


def describe_group_count(conversations: int, events: int, *, is_limited: bool) -> str:
    """Return the number of conversations found, and of the events in them."""
    if not conversations:
        return "No results"
    prefix = "At least " if is_limited else ""
    return (
        f"{prefix}{conversations:,} conversation{'' if conversations == 1 else 's'},"
        f" {events:,} event{'' if events == 1 else 's'}"
    )


def format_day(day: date) -> str:
    """Return a day as pages show it."""
    return dateformat.format(day, "j M Y")


def format_minute(at: datetime) -> str:
    """Return a time as pages show it, in UTC."""
    return f"{dateformat.format(at.astimezone(UTC), 'j M Y, H:i')} UTC"


def describe_expiry(seconds: int) -> str:
    """Return the label of a time after which questions expire."""
    return f"Expire after {format_whole_time(seconds)}"


def describe_delay(seconds: int) -> str:
    """Return the text of the delay of a notification."""
    return f"after {format_whole_time(seconds)}" if seconds else "immediately"


def format_whole_time(seconds: int) -> str:
    """Return a time in its largest whole unit."""
    size = next(size for size in UNIT_LABELS if seconds % size == 0)
    singular, plural = UNIT_LABELS[size]
    number = seconds // size
    return f"{number} {singular if number == 1 else plural}"


def format_age(at: datetime) -> str:
    """Return the age of an instant in words; "" beyond 30 days and in the future.

    What another clock dates a little ahead is new: machines' clocks differ, and get adjusted.
    """
    current_time = clock.now()
    age = current_time - at
    if age > timedelta(days=30) or age < -timedelta(minutes=1):
        return ""
    if age < timedelta(minutes=1):
        return "just now"
    return f"{timesince(at, current_time, depth=1)} ago"


def format_elapsed(seconds: int) -> str:
    """Return a growing duration in minutes or tens of seconds, as the page's script does."""
    if seconds < 60:  # noqa: PLR2004  seconds in a minute
        return f"{seconds // 10 * 10} s" if seconds >= 10 else "< 10 s"  # noqa: PLR2004  seconds
    hours, minutes = divmod(seconds // 60, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"

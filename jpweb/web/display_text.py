"""User-visible texts of wire tags: one vocabulary for transcript, questions and audit."""

from __future__ import annotations

from collections.abc import Mapping

from jpweb.store.choices import Act, WritePolicy
from jpweb.stream.inquiry import CancellationReason

STATE_LABELS = {
    "open": ("Waiting", "●"),
    "answered": ("Answered", "✓"),
    "redacted": ("Redacted", "■"),
    "cancelled": ("Cancelled", "⊘"),
    "unanswered": ("Unanswered", "○"),
}

REASON_TEXTS = {
    CancellationReason.USER: "declined or stopped",
    CancellationReason.BACKEND_ERROR: "error while asking",
    CancellationReason.NO_PROMPT_BACKEND: "no one available to ask",
    CancellationReason.ASSISTANT_ROUTING_DENIED: "misconfigured: routed to a model",
    CancellationReason.INVALID_STATIC_ANSWER: "misconfigured: invalid answer",
    CancellationReason.EXPIRED: "expired before an answer",
    CancellationReason.LOST: "the run ended before an answer",
}

SOURCE_LABELS = {
    "tool": "Tool",
    "assistant": "Assistant",
    "user": "User",
    "other": "Other",
}

DECIDER_TEXTS = {
    "person": "a person",
    "configuration": "configured value",
    "operator": "operator",
    "memory": "remembered answer",
    "assistant": "second model",
    "system": "jpweb",
}

#: Provider failures with a remedy, by kind.
FAILURE_TEXTS = {
    "context_length": "The conversation is too long for the model. Start a new one.",
    "rate_limit": "The provider's rate limit was reached. Try again soon.",
    "refusal": "The model refused to reply.",
    "truncated": "The reply reached its length limit and was cut off.",
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

#: Labels of the policies for saving jpweb's conversations to the workspace too.
WRITING = {
    WritePolicy.OFF: "No",
    WritePolicy.CURRENT: "Yes, for a jp with RFD 082",
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
#: Acts of the ledger.
ACT_LABELS: Mapping[str, str] = {
    Act.INQUIRY_ANSWERED: "Question answered",
    Act.INQUIRY_CANCELLED: "Question closed without an answer",
    Act.APPROVAL_DECIDED: "Approval decided",
    Act.APPROVAL_WITHDRAWN: "Approval withdrawn",
    Act.RUN_STARTED: "Turn started",
    Act.RUN_INTERRUPTED: "Turn interrupted",
    Act.RUN_ENDED: "Turn ended",
    Act.TRUST_GIVEN: "Commands trusted",
    Act.TRUST_WITHDRAWN: "Trust withdrawn",
    Act.SETTING_CHANGED: "Workspace setting changed",
    Act.MEMBER_INVITED: "Member invited",
    Act.INVITATION_WITHDRAWN: "Invitation withdrawn",
    Act.MEMBER_ADDED: "Member added",
    Act.ROLE_CHANGED: "Role changed",
    Act.MEMBER_REMOVED: "Member removed",
    Act.LINK_MADE: "Sign-in link created",
    Act.SIGNED_IN: "Signed in",
    Act.SIGNED_OUT: "Signed out",
    Act.SIGN_INS_ENDED: "Signed out everywhere",
    Act.READ: "Conversation read",
    Act.SEARCHED: "Search",
    Act.EXPORTED: "Export",
    Act.PURGED: "Ledger entries purged",
}
#: Details of an entry that its row shows; hashes and references stay in the ledger file.
LEDGER_DETAIL_LABELS: Mapping[str, str] = {
    "outcome": "outcome",
    "reason": "reason",
    "tool": "tool",
    "kind": "kind",
    "name": "name",
    "role": "role",
    "allow": "allowed",
    "remember": "for the rest of the turn",
    "state": "state",
    "failure": "failure",
    "model": "model",
    "setting": "setting",
    "value": "value",
    "view": "page",
    "count": "times",
    "query": "query",
    "file": "file",
    "format": "format",
    "sequences": "entries",
}


def describe_reason(tag: str) -> str:
    """Return the text of a cancellation reason; an unknown tag is quoted."""
    is_known = tag in list(CancellationReason)
    return REASON_TEXTS[CancellationReason(tag)] if is_known else f"“{tag}”"


def describe_decision(kind: str, state: str, record: Mapping[str, object]) -> tuple[str, str, str]:
    """Return an approval's outcome tag, its label and its mark."""
    if state != "decided":
        return "unanswered", "Withdrawn", "○"
    allowed = record.get("allow") is True
    label, mark = DECISION_LABELS[kind, allowed]
    if "arguments" in record or "content" in record:
        label += ", edited"
    if record.get("remember") is True:
        label += ", for this turn"
    return ("answered" if allowed else "skipped"), label, mark


def describe_decider(kind: str, name: str) -> str:
    """Return the text of the decider of a question or an approval."""
    if kind == "person" and name:
        return name
    text = DECIDER_TEXTS.get(kind, kind)
    return f"{text} ({name})" if name and text else text or "unknown"


def format_duration(seconds: float | None) -> str:
    """Return a duration in its two largest units, "" for None."""
    if seconds is None:
        return ""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:  # noqa: PLR2004  seconds in a minute
        return f"{seconds:.1f} s"
    minutes, remainder = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {remainder} s"


def format_elapsed(seconds: int) -> str:
    """Return a growing duration in minutes or tens of seconds, as the page's script does."""
    if seconds < 60:  # noqa: PLR2004  seconds in a minute
        return f"{seconds // 10 * 10} s" if seconds >= 10 else "< 10 s"  # noqa: PLR2004  seconds
    hours, minutes = divmod(seconds // 60, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"

"""What people read for a wire tag: one vocabulary in transcript, questions and audit."""

from __future__ import annotations

from jpweb.stream.inquiry import CancellationReason

STATES = {
    "open": ("Waiting", "●"),
    "answered": ("Answered", "✓"),
    "redacted": ("Redacted", "■"),
    "cancelled": ("Cancelled", "⊘"),
    "unanswered": ("Unanswered", "○"),
}

REASONS = {
    CancellationReason.USER: "a person declined or stopped it",
    CancellationReason.BACKEND_ERROR: "the inquiry backend failed",
    CancellationReason.NO_PROMPT_BACKEND: "it needs a person and none could be asked",
    CancellationReason.ASSISTANT_ROUTING_DENIED: (
        "it needs a person and was configured for the assistant"
    ),
    CancellationReason.INVALID_STATIC_ANSWER: "the configured answer does not fit the question",
    CancellationReason.EXPIRED: "nobody answered in time",
    CancellationReason.LOST: "the run that asked ended before an answer came",
}

SOURCES = {
    "tool": "Tool",
    "assistant": "Assistant",
    "user": "User",
    "other": "Other",
}

DECIDERS = {
    "person": "a person",
    "configuration": "the configuration",
    "memory": "an answer remembered in this turn",
    "assistant": "an assistant",
    "system": "jpweb",
}

KINDS = {
    "turn_start": "Turn",
    "chat_request": "You",
    "chat_response": "Assistant",
    "tool_call_request": "Tool",
    "tool_call_response": "Result",
    "inquiry_request": "Question",
    "inquiry_response": "Outcome",
    "config_delta": "Configuration changed",
    "compaction": "Compaction",
}


def reason(tag: str) -> str:
    """Return what a reason means; one that we do not know is quoted as it came."""
    known = tag in list(CancellationReason)
    return REASONS[CancellationReason(tag)] if known else f"“{tag}”"


def decided_by(kind: str, name: str) -> str:
    """Return who or what made a decision."""
    if kind == "person" and name:
        return name
    words = DECIDERS.get(kind, kind)
    return f"{words} ({name})" if name and words else words or "not recorded"


def duration(seconds: float | None) -> str:
    """Return a span in the two units that matter."""
    if seconds is None:
        return ""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:  # noqa: PLR2004  seconds in a minute
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"

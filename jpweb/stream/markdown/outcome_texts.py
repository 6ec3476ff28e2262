"""The words for a question's outcome and its decider, on pages and in exports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jpweb.stream.inquiry import CancellationReason, Cancelled, InquiryOutcome

REASON_TEXTS: Mapping[CancellationReason, str] = {
    CancellationReason.USER: "declined or stopped",
    CancellationReason.BACKEND_ERROR: "error while asking",
    CancellationReason.NO_PROMPT_BACKEND: "no one available to ask",
    CancellationReason.ASSISTANT_ROUTING_DENIED: "misconfigured: routed to a model",
    CancellationReason.INVALID_STATIC_ANSWER: "misconfigured: invalid answer",
    CancellationReason.EXPIRED: "expired before an answer",
    CancellationReason.LOST: "the call or turn stopped waiting",
}

DECIDER_TEXTS: Mapping[str, str] = {
    "person": "a person",
    "configuration": "configured value",
    "operator": "operator",
    "memory": "remembered answer",
    "assistant": "second model",
    "system": "jpweb",
}

#: Ways of answers that came by no page, as the record names them.
NOTIFICATION_CHANNEL, LINK_CHANNEL = "notification", "link"
#: Way of a reply to the model, which interrupted the question.
REPLY_CHANNEL = "reply"
ANSWER_CHANNELS: Mapping[str, str] = {
    NOTIFICATION_CHANNEL: "by a notification's button",
    LINK_CHANNEL: "by an answer link",
}


def read_channel(outcome: InquiryOutcome | None, event_note: Mapping[str, Any]) -> str:
    """Return the way of an outcome from its event's note; "" for a page of a signed-in person."""
    if isinstance(outcome, Cancelled) and event_note.get("replied") is True:
        return REPLY_CHANNEL
    return str(event_note.get("channel") or "")


def describe_reason(tag: str, channel: str = "") -> str:
    """Return the text of a cancellation reason; an unknown tag is quoted."""
    if channel == REPLY_CHANNEL:
        return "interrupted with a reply"
    is_known = tag in list(CancellationReason)
    return REASON_TEXTS[CancellationReason(tag)] if is_known else f"“{tag}”"


def describe_decider(kind: str, name: str) -> str:
    """Return the text of the decider of a question or an approval."""
    if kind == "person" and name:
        return name
    text = DECIDER_TEXTS.get(kind, kind)
    return f"{text} ({name})" if name and text else text or "unknown"


def get_approval_decider_kind(state: str) -> str:
    """Return the kind of an approval's decider: jpweb withdraws those that no person decided."""
    return "system" if state == "withdrawn" else "person"


def name_approval_decider(state: str, name: str) -> str:
    """Return the decider's name, or the text that stands for jpweb; an unknown one stays empty."""
    kind = get_approval_decider_kind(state)
    return name if kind == "person" else describe_decider(kind, name)

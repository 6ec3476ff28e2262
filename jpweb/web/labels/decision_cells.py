"""The cells of exported decisions, each a row of the page *Decisions*."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jpweb.store import inquiries
from jpweb.store.inquiries import get_question_text
from jpweb.store.reviews.decisions import POLICY_KINDS
from jpweb.stream.answer_type import format_answer
from jpweb.stream.markdown import outcome_texts
from jpweb.web import display_text

if TYPE_CHECKING:
    from jpweb.store.models import Approval, Conversation, Inquiry

#: The columns of a file, in their order; those that the audit's CSV has too mean the same there.
COLUMNS = (
    "decided_at", "kind", "workspace", "conversation", "conversation_title", "subject", "decision",
    "answer", "verdict", "round", "comment", "decided_by", "decider", "decider_id", "channel",
    "waited_seconds", "inquiry_id", "tool_call_id", "link",
)  # fmt: skip
#: Details of an entry that are columns, as they are on record.
_OWN_COLUMNS = ("round", "verdict")
#: Details of an entry that are words of a person.
_COMMENTS = ("note", "reason")


def make_values(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a row of the page by column; ``link`` is without the host."""
    values: dict[str, Any] = dict.fromkeys(COLUMNS, "")
    values |= {"decided_at": row["at"].isoformat(), "kind": str(row["kind"]), "link": row["url"]}
    if "inquiry" in row:
        return values | _describe_inquiry(row["inquiry"])
    if "approval" in row:
        return values | _describe_approval(row["approval"])
    return values | _describe_entry(row)


def _describe_inquiry(inquiry: Inquiry) -> dict[str, Any]:
    label, _ = display_text.STATE_LABELS[inquiry.state]
    reason = (
        outcome_texts.describe_reason(inquiry.reason, inquiry.channel) if inquiry.reason else ""
    )
    return _describe_conversation(inquiry) | {
        "subject": get_question_text(inquiry),
        "decision": f"{label} ({reason})" if reason else label,
        "answer": "" if inquiry.answer is None else format_answer(inquiry.answer),
        "comment": inquiry.note,
        "decided_by": inquiry.decided_by,
        "channel": inquiry.channel,
        "inquiry_id": inquiry.inquiry_id,
    }


def _describe_approval(approval: Approval) -> dict[str, Any]:
    record = approval.decision or {}
    _, label, _ = display_text.describe_decision(approval.kind, approval.state, record)
    return _describe_conversation(approval) | {
        "subject": approval.tool_name,
        "decision": label,
        "comment": record.get("reason", ""),
        "decided_by": outcome_texts.get_approval_decider_kind(approval.state),
        "tool_call_id": approval.tool_call_id,
    }


def _describe_conversation(row: Inquiry | Approval) -> dict[str, Any]:
    """Return the workspace, the conversation with its title, the decider, and the wait."""
    waited_seconds = inquiries.get_waiting_seconds(row)
    return {
        "workspace": row.conversation.workspace.name,
        "conversation": f"jp-c{row.conversation.jp_id}",
        "conversation_title": row.conversation.title,
        "decider": row.decider_name,
        "decider_id": row.decider_id or "",
        "waited_seconds": "" if waited_seconds is None else round(waited_seconds, 3),
    }


def _describe_entry(row: Mapping[str, Any]) -> dict[str, Any]:
    conversation: Conversation | None = row["conversation"]
    details = {label: value for label, value in row["details"] if label not in _OWN_COLUMNS}
    # A policy's decision is about a tool call, as that of an approval.
    tool = details.pop("tool", "") if row["kind"] in POLICY_KINDS else ""
    comments = [str(details.pop(name)) for name in _COMMENTS if name in details]
    return {
        "workspace": row["workspace"],
        "conversation": f"jp-c{conversation.jp_id}" if conversation else "",
        "conversation_title": conversation.title if conversation else "",
        "subject": tool or row["subject"] or row["act"],
        "decision": ", ".join(
            [row["act"]] * bool(row["subject"])
            + [f"{label} {value}" for label, value in details.items()]
        ),
        **{name: row[name] for name in _OWN_COLUMNS},
        "comment": "; ".join(comments),
        "decided_by": row["decider_kind"],
        "decider": row["decider_name"],
        "decider_id": row["decider_id"],
        "inquiry_id": row["inquiry_id"],
    }

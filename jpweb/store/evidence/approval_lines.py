"""Approvals in an evidence bundle: their lines, and their import.

A line has who decided what, when, and with which words; arguments and results are in the events.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from jpweb.store import approvals
from jpweb.store.evidence.line_times import format_time
from jpweb.store.models import Approval, Conversation

_BATCH_ROWS = 250


class ApprovalLine(msgspec.Struct, forbid_unknown_fields=True):
    """An approval as a line; earlier bundles have neither ``edited`` nor ``reason``."""

    kind: Literal["run", "deliver"]
    tool_call: str
    tool: Annotated[str, msgspec.Meta(max_length=200)]
    digest: Annotated[str, msgspec.Meta(pattern=r"\A([0-9a-f]{64})?\Z")]
    outcome: Literal["open", "decided", "withdrawn"]
    allowed: bool | None
    for_the_turn: bool | None
    decider: Annotated[str, msgspec.Meta(max_length=200)]
    asked_at: datetime
    settled_at: datetime | None
    edited: bool = False
    reason: str = ""


def describe_approval(row: Approval) -> dict[str, Any]:
    """Return the line of an approval."""
    decision = row.decision or {}
    return {
        "kind": row.kind,
        "tool_call": row.tool_call_id,
        "tool": row.tool_name,
        "digest": row.digest,
        "outcome": row.state,
        "allowed": decision.get("allow"),
        "for_the_turn": decision.get("remember"),
        "edited": approvals.is_edited(decision),
        "reason": decision.get("reason", ""),
        "decider": row.decider_name,
        "asked_at": format_time(row.asked_at),
        "settled_at": format_time(row.settled_at),
    }


def insert_approvals(conversation: Conversation, lines: list[ApprovalLine]) -> None:
    """Insert the approvals of an imported conversation; they have no run, and nobody decides them.

    Their deciders are names: an account of the same name may be somebody else's.
    """
    rows = [
        Approval(
            conversation=conversation,
            workspace_id=conversation.workspace_id,
            kind=line.kind,
            tool_call_id=line.tool_call,
            tool_name=line.tool,
            digest=line.digest,
            subject={},
            state=line.outcome,
            decision=_make_decision(line),
            decider_name=line.decider,
            asked_at=line.asked_at,
            settled_at=line.settled_at,
        )
        for line in lines
    ]
    Approval.objects.bulk_create(rows, _BATCH_ROWS)


def _make_decision(line: ApprovalLine) -> dict[str, Any] | None:
    """Return the decision of a line, without the text of an edit; None where there is none."""
    values = {
        "allow": line.allowed,
        "remember": line.for_the_turn,
        approvals.EDITED_KEY: line.edited or None,
        "reason": line.reason or None,
    }
    return {name: value for name, value in values.items() if value is not None} or None

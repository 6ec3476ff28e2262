"""Compares the rows of decisions, which pages and exports show, with the entries of the chain.

The rows of settled questions, approvals and reviews may change only as jpweb changes them:

- a redaction replaces notes, and removes digests and nonces,
- the end of an account sets its key to NULL,
- jp may rewrite the questions of a mirrored conversation.

The rows of each batch are read after its entries, which takes four queries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from jpweb.evidence.ledger_verifier import Problem
from jpweb.store.choices import Act, ApprovalState, Origin
from jpweb.store.ledger.row_checks.review_rows import ReviewComparison
from jpweb.store.ledger.row_checks.row_differences import (
    ChainedAct,
    describe_differences,
    has_redaction,
    is_decider_same,
)
from jpweb.store.models import Approval, Conversation, Inquiry

#: Entries of decisions whose rows are read at once.
_BATCH_ENTRIES = 1000
_QUESTION_ACTS = (Act.INQUIRY_ANSWERED, Act.INQUIRY_CANCELLED)
_APPROVAL_STATES = {
    Act.APPROVAL_DECIDED: ApprovalState.DECIDED,
    Act.APPROVAL_WITHDRAWN: ApprovalState.WITHDRAWN,
}
_COMPARED_ACTS = frozenset({*_QUESTION_ACTS, *_APPROVAL_STATES, Act.REVIEWED})
_QUESTION_COLUMNS = (
    "id", "conversation_id", "state", "reason", "decided_by", "decider_id", "decider_name",
    "channel", "asked_at", "anchor",
)  # fmt: skip
_APPROVAL_COLUMNS = (
    "id", "conversation_id", "kind", "tool_name", "state", "decision", "digest", "decider_id",
    "decider_name", "asked_at",
)  # fmt: skip
#: The channel that a migration gave to questions which were settled before.
_FILLED_CHANNEL = "reply"


class _Rows(NamedTuple):
    """Columns of rows by their keys, and the origins of conversations that exist, by theirs."""

    questions: Mapping[int, dict[str, Any]]
    approvals: Mapping[int, dict[str, Any]]
    origins: Mapping[int, str]


class DecisionComparison:
    """Collects entries of decisions, and compares each batch of them with the rows."""

    def __init__(self) -> None:
        self._acts: list[ChainedAct] = []
        self._reviews = ReviewComparison()
        self._gone_ids: set[int] = set()

    def add_entry(self, sequence: int, content: Mapping[str, Any]) -> Iterator[Problem]:
        """Yield the problems of a batch that this entry completes; others than decisions are not.

        ``content`` is the JSON object of the entry, whose text is that of the chain.
        """
        if content.get("act") in _COMPARED_ACTS:
            self._acts.append(ChainedAct.from_content(sequence, content))
            if len(self._acts) == _BATCH_ENTRIES:
                yield from self._compare_batch()

    def find_last_problems(self) -> Iterator[Problem]:
        """Yield the problems of the last batch, and of reviews that no entry has."""
        yield from self._compare_batch()
        yield from self._reviews.find_unrecorded()

    def _compare_batch(self) -> Iterator[Problem]:
        acts, self._acts = self._acts, []
        rows = _load_rows(acts)
        reviewed_acts = []
        for act in acts:
            if act.conversation_id not in rows.origins:
                yield from self._name_gone_conversation(act)
            elif act.act == Act.REVIEWED:
                reviewed_acts.append(act)
            elif act.act in _QUESTION_ACTS:
                yield from _compare_question(act, rows)
            else:
                yield from _compare_approval(act, rows.approvals.get(act.subject_id))
        anchors = {key: row["anchor"] for key, row in rows.questions.items()}
        yield from self._reviews.compare_batch(reviewed_acts, anchors)

    def _name_gone_conversation(self, act: ChainedAct) -> Iterator[Problem]:
        """Yield once that a conversation is gone: jpweb deletes none."""
        if act.conversation_id not in self._gone_ids:
            self._gone_ids.add(act.conversation_id)
            yield Problem(act.sequence, f"its conversation {act.conversation_id} is gone")


def _load_rows(acts: Collection[ChainedAct]) -> _Rows:
    inquiry_ids = {act.subject_id for act in acts if act.subject_kind == "inquiry"}
    approval_ids = {act.subject_id for act in acts if act.subject_kind == "approval"}
    conversation_ids = {act.conversation_id for act in acts}
    questions = Inquiry.objects.filter(pk__in=inquiry_ids).values(*_QUESTION_COLUMNS)
    approvals = Approval.objects.filter(pk__in=approval_ids).values(*_APPROVAL_COLUMNS)
    conversations = Conversation.objects.filter(pk__in=conversation_ids)
    return _Rows(
        {row["id"]: row for row in questions},
        {row["id"]: row for row in approvals},
        dict(conversations.values_list("pk", "origin")),
    )


def _compare_question(act: ChainedAct, rows: _Rows) -> Iterator[Problem]:
    row = rows.questions.get(act.subject_id)
    name = f"question {act.subject_id}"
    if row is None:
        if rows.origins[act.conversation_id] != Origin.MIRRORED:
            yield Problem(act.sequence, f"the row of {name} is gone")
        return
    kind = act.by.get("kind", "")
    # An event that names no decider is recorded as of jpweb itself.
    is_kind_same = row["decided_by"] in (kind, "" if kind == "system" else kind)
    yield from describe_differences(
        act,
        name,
        {
            "conversation": row["conversation_id"] == act.conversation_id,
            "outcome": row["state"] == act.details.get("outcome", row["state"]),
            "reason": row["reason"] == act.details.get("reason", row["reason"]),
            "decider": is_kind_same
            and is_decider_same(act, row["decider_name"], row["decider_id"]),
            "channel": _is_channel_same(act, row["channel"]),
            "time of asking": _is_time_same(act, row["asked_at"]),
        },
    )


def _is_channel_same(act: ChainedAct, channel: str) -> bool:
    """Tell whether a channel is that of an entry; entries before a release name none."""
    if "channel" in act.details:
        return channel == str(act.details["channel"])
    return "asked_at" not in act.details or channel in ("", _FILLED_CHANNEL)


def _is_time_same(act: ChainedAct, asked_at: datetime) -> bool:
    """Tell whether a row was asked when its entry says; earlier entries have no such time."""
    recorded_time = act.details.get("asked_at", asked_at.isoformat())
    try:
        return datetime.fromisoformat(recorded_time) == asked_at
    except (TypeError, ValueError):
        return False


def _compare_approval(act: ChainedAct, row: dict[str, Any] | None) -> Iterator[Problem]:
    name = f"approval {act.subject_id}"
    if row is None:
        yield Problem(act.sequence, f"the row of {name} is gone")
        return
    details = act.details
    yield from describe_differences(
        act,
        name,
        {
            "conversation": row["conversation_id"] == act.conversation_id,
            "state": row["state"] == _APPROVAL_STATES[Act(act.act)],
            "decision": _select_flags(row["decision"]) == _select_flags(details),
            "decider": is_decider_same(act, row["decider_name"], row["decider_id"]),
            "kind": row["kind"] == details.get("kind", row["kind"]),
            "tool": row["tool_name"] == details.get("tool", row["tool_name"]),
            "digest": row["digest"] == details.get("digest", row["digest"])
            or (not row["digest"] and has_redaction(act.conversation_id)),
            "time of asking": _is_time_same(act, row["asked_at"]),
        },
    )


def _select_flags(values: Any) -> dict[str, bool]:
    """Return what a decision answers with yes or no; words and edits are in the entry as a hash."""
    items = values.items() if isinstance(values, dict) else ()
    return {name: value for name, value in items if isinstance(value, bool)}

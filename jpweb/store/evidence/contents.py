"""The rows of a conversation that go into an evidence bundle, as JSON lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, QuerySet

from jpweb.evidence import keyed_hashes, ledger_verifier
from jpweb.store import audit, inquiries
from jpweb.store.audit import AuditFilters
from jpweb.store.choices import ApprovalKind, ApprovalState, Role, SuspectedSecretState
from jpweb.store.errors import StoreError
from jpweb.store.evidence import approval_lines, queue_pages, receipt_lines
from jpweb.store.evidence.line_times import format_time
from jpweb.store.models import (
    Approval,
    Comment,
    Conversation,
    DisplayReceipt,
    Inquiry,
    Membership,
    Redaction,
    SuspectedSecret,
)
from jpweb.store.reviews import decisions
from jpweb.store.reviews.decisions import DecisionFilters
from jpweb.store.sql.compiled_query import CompiledQuery

#: Conversations of one bundle.
MAX_CONVERSATIONS = 1000
#: Rows of one query.
_BATCH_ROWS = 250


@dataclass(frozen=True, slots=True)
class OmittedContent:
    """Content that a bundle omits: its kind, its number, and the reason."""

    what: str
    count: int
    why: str


def list_conversation_ids(person_id: int, filters: AuditFilters) -> list[int]:
    """Return the keys of the conversations whose inquiries match.

    Raises StoreError where there are more than ``MAX_CONVERSATIONS``.
    """
    matches = audit.list_inquiries(person_id, filters).order_by()
    keys = matches.values_list("conversation_id", flat=True).distinct()
    return _check_count(sorted(keys[: MAX_CONVERSATIONS + 1]))


def list_decided_conversation_ids(person_id: int, filters: DecisionFilters) -> list[int]:
    """Return the keys of the conversations whose decisions match. Raises StoreError as above."""
    return _check_count(decisions.list_conversation_ids(person_id, filters, MAX_CONVERSATIONS + 1))


def list_queued_conversation_ids(person_id: int, name: str) -> list[int]:
    """Return the keys of the conversations of a review queue. Raises StoreError as above."""
    return _check_count(queue_pages.list_conversation_ids(person_id, name))


def _check_count(conversation_ids: list[int]) -> list[int]:
    if len(conversation_ids) > MAX_CONVERSATIONS:
        raise StoreError(
            f"More than {MAX_CONVERSATIONS} conversations match. "
            "Narrow the filters, for example by dates."
        )
    return conversation_ids


def find_workspace_ids(conversation_ids: list[int]) -> dict[int, int]:
    """Return the keys of the workspaces of conversations, by the keys of these, in their order."""
    rows = Conversation.objects.filter(pk__in=conversation_ids).order_by("pk")
    return dict(rows.values_list("pk", "workspace_id"))


def can_audit_all(person_id: int, conversation_ids: list[int]) -> bool:
    """Tell whether a person may still audit every workspace of these conversations."""
    needed_ids = set(find_workspace_ids(conversation_ids).values())
    audited_memberships = Membership.objects.filter(
        person_id=person_id, role__in=Role.list_including(Role.AUDITOR)
    )
    return needed_ids <= set(audited_memberships.values_list("workspace_id", flat=True))


def describe_conversation(conversation: Conversation) -> bytes:
    """Return a bundle's data of a conversation besides its events; an import reads it."""
    content = {
        "jp_id": conversation.jp_id,
        "title": conversation.title,
        "origin": conversation.origin,
        "workspace": conversation.workspace.name,
        "workspace_jp_id": conversation.workspace.jp_id,
        "labels": conversation.labels,
        "archived": conversation.archived,
        "last_activity": format_time(conversation.last_activity),
        "framing": conversation.framing,
    }
    return (ledger_verifier.encode_canonical(content) + "\n").encode()


def export_questions(conversation: Conversation) -> Iterator[bytes]:
    """Yield the questions of a conversation: each with its answer, its decider and its times.

    Like the events of the bundle, they end where the conversation ended when it was loaded.
    """
    rows = Inquiry.objects.filter(conversation=conversation, position__lt=conversation.entry_count)
    return _write_lines(rows, _describe_question, "position", "pk")


def export_approvals(conversation: Conversation) -> Iterator[bytes]:
    """Yield the decisions about tool calls and their results."""
    rows = Approval.objects.filter(conversation=conversation)
    return _write_lines(rows, approval_lines.describe_approval)


def export_receipts(conversation: Conversation) -> Iterator[bytes]:
    """Yield the showing proof of these questions: when each first reached whom."""
    rows = DisplayReceipt.objects.filter(
        inquiry__conversation=conversation, inquiry__position__lt=conversation.entry_count
    )
    rows = rows.select_related("inquiry", "person")
    return _write_lines(rows, receipt_lines.describe_receipt)


def export_redactions(conversation: Conversation) -> Iterator[bytes]:
    """Yield for each redacted event the key by which the ledger's digest proves its new text.

    That of an earlier redaction is left out: with it the text between the two could be guessed.
    """
    rows = Redaction.objects.filter(conversation=conversation).exclude(text="")
    return _write_lines(rows, _describe_redaction)


def list_omitted_content(conversation_ids: list[int]) -> list[OmittedContent]:
    """Return the content of these conversations that no bundle holds: unrecorded, or elsewhere."""
    secrets = Inquiry.objects.filter(conversation_id__in=conversation_ids, state="redacted")
    withheld_approvals = Approval.objects.filter(
        conversation_id__in=conversation_ids,
        kind=ApprovalKind.DELIVER,
        state=ApprovalState.DECIDED,
        decision__allow=False,
    )
    return [
        OmittedContent(
            "secret answers",
            secrets.count(),
            "A secret goes to the tool that asked, and is not stored.",
        ),
        OmittedContent(
            "withheld results", withheld_approvals.count(), "A withheld result is not stored."
        ),
        OmittedContent(
            "suspected secrets in readable files",
            count_masked_places(conversation_ids).total(),
            "Marks replace them in conversation.md, in conversation.html and in lines that "
            "repeat an event; events.jsonl has each event's full text.",
        ),
        OmittedContent(
            "comments on events",
            Comment.objects.filter(thread__conversation_id__in=conversation_ids).count(),
            "They are discussion, not part of the record; they may be edited, and the ledger has "
            "their hashes.",
        ),
    ]


def count_masked_places(conversation_ids: list[int]) -> Counter[int]:
    """Return how many masks each conversation has, which the events of a bundle do not have."""
    return Counter(dict(_mask_count_query(conversation_ids) if conversation_ids else []))


#: The ORM takes 0.6 ms longer, for each page of a conversation.
_mask_count_query = CompiledQuery(
    lambda conversation_ids: (
        SuspectedSecret.objects.filter(
            conversation_id__in=conversation_ids, state=SuspectedSecretState.OPEN
        )
        .order_by()
        .values_list("conversation_id")
        .annotate(Count("pk"))
    )
)


def _write_lines(
    rows: QuerySet[Any], describe: Callable[[Any], dict[str, Any]], *order: str
) -> Iterator[bytes]:
    """Yield the lines of rows in an order, else in that of their keys, a query each batch."""
    keys = list(rows.order_by(*(order or ("pk",))).values_list("pk", flat=True))
    for start in range(0, len(keys), _BATCH_ROWS):
        batch_keys = keys[start : start + _BATCH_ROWS]
        rows_by_key = rows.in_bulk(batch_keys)
        batch = [rows_by_key[key] for key in batch_keys if key in rows_by_key]
        lines = [ledger_verifier.encode_canonical(describe(row)) + "\n" for row in batch]
        yield "".join(lines).encode()


def _describe_question(row: Inquiry) -> dict[str, Any]:
    return {
        "event": row.anchor,
        "position": row.position,
        "response_position": row.response_position,
        "asker": row.asker,
        "source": row.source,
        "question": row.question,
        "answer_type": row.answer_type,
        "outcome": row.state,
        "reason": row.reason,
        "answer": row.answer,
        "comment": row.note,
        "decided_by": row.decided_by,
        "decider": row.decider_name,
        "channel": row.channel,
        "asked_at": format_time(row.asked_at),
        "settled_at": format_time(row.settled_at),
        "waited_seconds": inquiries.get_waiting_seconds(row),
    }


def _describe_redaction(row: Redaction) -> dict[str, Any]:
    return {"event": row.anchor, "text_key": keyed_hashes.derive_text_key(row.key)}

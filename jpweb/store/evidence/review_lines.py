"""Reviews in an evidence bundle: their lines, and their import.

Verdict and note of a review are withheld while the second of two blind reviews is missing: the
bundle may reach the second reviewer. So they are where a redaction replaced something in the note.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from jpweb.evidence import ledger_verifier
from jpweb.store.choices import Act, ReviewState
from jpweb.store.evidence.line_times import format_time
from jpweb.store.ledger.entries import parse_content
from jpweb.store.models import Conversation, LedgerEntry, Review, ReviewTask
from jpweb.store.reviews import reviews, subjects
from jpweb.store.reviews.reviews import ReviewHistory
from jpweb.store.reviews.subjects import ReviewSubject

_BATCH_ROWS = 250
#: Begins the version of an imported review whose verdict is unknown, so that it counts for nothing.
_UNKNOWN_VERSION = "withheld."
_Hash = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]


@dataclass(slots=True)
class ReviewCounts:
    """How many reviews were written, and of how many verdict and note are withheld."""

    written: int = 0
    withheld: int = 0


class ReviewLine(msgspec.Struct, forbid_unknown_fields=True):
    """A review as a line; without ``event`` it is of the conversation."""

    event: Annotated[str, msgspec.Meta(pattern=r"\A(e-[A-Za-z0-9-]{1,58})?\Z")]
    round: Literal[1, 2, 3]
    revision: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
    rounds_required: Literal[1, 2]
    content_hash: _Hash
    reviewer: Annotated[str, msgspec.Meta(max_length=200)]
    reviewed_at: datetime
    withheld: Literal["", "blind", "redacted"]
    verdict: Literal["", "fine", "questionable", "wrong", "escalate"]
    note: Annotated[str, msgspec.Meta(max_length=reviews.MAX_NOTE_CHARS)]
    nonce: Annotated[str, msgspec.Meta(pattern=r"\A([0-9a-f]{32})?\Z")]


def write_reviews(
    conversation: Conversation, head_sequence: int, counts: ReviewCounts
) -> Iterator[bytes]:
    """Yield the reviews of a conversation that are in the ledger up to ``head_sequence``."""
    counts.written = counts.withheld = 0
    details = _read_ledger(conversation, head_sequence, Act.REVIEWED)
    hashes = {str(values.get("review_hash")) for values in details}
    imports = _read_ledger(conversation, head_sequence, Act.EVIDENCE_IMPORTED)
    counts_of_imports = (values.get("reviews", 0) for values in imports)
    imported_count = sum(count for count in counts_of_imports if isinstance(count, int))
    rows = Review.objects.filter(conversation=conversation).order_by("pk")
    # A redaction removes the nonce and so the hash; it also breaks an export that is going on.
    disclosed_keys = reviews.list_disclosed(
        row
        for row in rows.iterator(_BATCH_ROWS)
        if not row.nonce or reviews.hash_review(row) in hashes
    )
    for number, row in enumerate(rows.iterator(_BATCH_ROWS)):
        is_imported = number < imported_count
        if not is_imported and row.nonce and reviews.hash_review(row) not in hashes:
            continue
        is_disclosed = row.pk in disclosed_keys or (is_imported and bool(row.verdict))
        line = _describe_review(row, is_complete=is_disclosed)
        counts.written += 1
        counts.withheld += bool(line["withheld"])
        yield (ledger_verifier.encode_canonical(line) + "\n").encode()


def _read_ledger(
    conversation: Conversation, head_sequence: int, act: Act
) -> Iterator[dict[str, Any]]:
    entries = LedgerEntry.objects.filter(
        conversation_id=conversation.pk, act=act, sequence__lte=head_sequence
    )
    for text in entries.exclude(text="").values_list("text", flat=True).iterator(_BATCH_ROWS):
        yield parse_content(text).get("details", {})


def _describe_review(row: Review, *, is_complete: bool) -> dict[str, Any]:
    withheld_reason = "" if is_complete and row.nonce else "redacted" if is_complete else "blind"
    is_shown = withheld_reason != "blind"
    return {
        "event": row.anchor,
        "round": row.round,
        "revision": row.revision,
        "rounds_required": row.rounds_required,
        "content_hash": row.content_hash,
        "reviewer": row.reviewer_name,
        "reviewed_at": format_time(row.reviewed_at),
        "withheld": withheld_reason,
        "verdict": str(row.verdict) if is_shown else "",
        # A marker of a redaction may have made it longer than a note can be.
        "note": row.note[: reviews.MAX_NOTE_CHARS] if is_shown else "",
        "nonce": row.nonce if is_shown else "",
    }


def insert_reviews(conversation: Conversation, lines: list[ReviewLine]) -> None:
    """Insert the reviews of an imported conversation, and the state of each of its subjects."""
    present_subject = subjects.load_conversation(conversation)
    present_hash = subjects.hash_content(present_subject)
    rows = []
    for line in lines:
        version = line.content_hash
        if not line.event and line.content_hash == present_hash:
            version = present_subject.version
        if not line.verdict:
            version = f"{_UNKNOWN_VERSION}{line.content_hash}"[:64]
        row = Review(
            conversation=conversation,
            anchor=line.event,
            version=version,
            content_hash=line.content_hash,
            round=line.round,
            revision=line.revision,
            rounds_required=line.rounds_required,
            verdict=line.verdict,
            note=line.note,
            nonce=line.nonce,
            reviewer_name=line.reviewer,
            reviewed_at=line.reviewed_at,
        )
        rows.append(row)
    Review.objects.bulk_create(rows, _BATCH_ROWS)
    _insert_tasks(conversation, rows, present_subject)


def _insert_tasks(
    conversation: Conversation, rows: list[Review], present_subject: ReviewSubject
) -> None:
    """Insert the state of the reviews of each question, and of the conversation."""
    rows_by_anchor: dict[str, list[Review]] = {}
    for row in rows:
        if row.verdict:
            rows_by_anchor.setdefault(row.anchor, []).append(row)
    inquiries = {row.anchor: row for row in conversation.inquiries.all()}
    tasks = []
    for anchor, subject_rows in rows_by_anchor.items():
        subject = present_subject
        if anchor:
            if anchor not in inquiries:
                continue
            subject = subjects.load_question(inquiries[anchor])
        history = ReviewHistory(subject, subject_rows, conversation.workspace.reviews_required)
        state, verdict = history.state
        if state != ReviewState.UNREVIEWED:
            tasks.append(
                ReviewTask(conversation=conversation, anchor=anchor, state=state, verdict=verdict)
            )
    ReviewTask.objects.bulk_create(tasks, _BATCH_ROWS)

"""Verification of the ledger in the database: its chain and head, and the journal and rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.db.models import Count, Max, Min, Q

from jpweb.evidence import keyed_hashes, ledger_verifier
from jpweb.evidence.ledger_verifier import Problem
from jpweb.store.choices import Act
from jpweb.store.ledger import entry_macs, retention, signing, tree
from jpweb.store.ledger.entries import read_details
from jpweb.store.ledger.row_checks.decision_rows import DecisionComparison
from jpweb.store.ledger.sealing import get_head
from jpweb.store.models import (
    Conversation,
    JournalEntry,
    LedgerEntry,
    LedgerHead,
    LedgerTile,
    Redaction,
)
from jpweb.stream import anchor_ids

#: Acts by which a question is settled; the ledger has one of them a question.
SETTLING_ACTS = (Act.INQUIRY_ANSWERED, Act.INQUIRY_CANCELLED)
#: Acts whose entries have the hash of an event.
_HASHING_ACTS = (
    *SETTLING_ACTS,
    Act.CALL_DECIDED_BY_POLICY,
    Act.CALL_RAN_UNATTENDED,
    Act.RESULT_DECIDED_BY_POLICY,
)
#: Entries of one query.
_BATCH_ENTRIES = 2000
_COLUMNS = (
    "sequence", "text_hash", "chain_hash", "text", "act", "at", "person_id", "workspace_id",
    "conversation_id", "subject",
)  # fmt: skip
#: Keys of an entry's JSON by the column that derives from them.
_KEY_BY_COLUMN = {
    "act": "act",
    "workspace_id": "workspace",
    "conversation_id": "conversation",
    "subject": "subject",
}


def find_problems(
    kept_heads: Iterable[dict[str, Any] | Problem] = (),
    progress: Callable[[int, int], None] = lambda _done_count, _total_count: None,
) -> Iterator[Problem]:
    """Yield the problems of the ledger; ``progress`` gets the entries done, and all.

    ``kept_heads`` are signed heads that were kept outside the database, each as
    ``signing.make_statement`` returns it, and the problems of their files. Servers may record, seal
    and purge entries meanwhile.
    """
    hashes_by_sequence: defaultdict[int, set[str]] = defaultdict(set)
    for statement in kept_heads:
        if isinstance(statement, Problem):
            yield statement
            continue
        statement_problems = ledger_verifier.find_head_problems(statement)
        yield from statement_problems
        if not statement_problems:
            head_values = statement["head"]
            hashes_by_sequence[head_values["sequence"]].add(head_values["chain_hash"])
    # The head is read after what it has to cover: kept heads and sealed entries only grow.
    last_sequence = _read_last_sequence()
    tiles = tree.read_tiles()
    head = get_head()
    checked_sequence = 0
    tree_check, comparison = _TreeCheck(head, tiles), DecisionComparison()
    for entry in _read_chain(up_to=max(last_sequence, head.sequence)):
        if entry.sequence % _BATCH_ENTRIES == 0:
            progress(entry.sequence, head.sequence)
        problems = list(_find_entry_problems(entry))
        yield from problems
        yield from tree_check.add_entry(entry, problems)
        yield from comparison.add_entry(entry.sequence, entry.content)
        checked_sequence = entry.sequence
        for _ in hashes_by_sequence.pop(checked_sequence, set()) - {entry.chain_hash}:
            yield Problem(
                checked_sequence, "the chain up to here is not the one of a head that was kept"
            )
    yield from comparison.find_last_problems()
    head_problems = list(_find_head_problems(head, checked_sequence))
    yield from head_problems or tree_check.find_problems()
    for sequence in sorted(hashes_by_sequence):
        yield Problem(sequence, "it is missing, and a head that was kept names it")
    yield from _find_repeated_settlements()
    yield from _find_repeated_entries()
    yield from _find_forgeries()


def list_key_changes() -> list[int]:
    """Return the sequences of the sealed entries that say that the signing key was changed."""
    changes = LedgerEntry.objects.filter(act=Act.LEDGER_KEY_CHANGED, sequence__isnull=False)
    return [sequence or 0 for sequence in changes.order_by("id").values_list("sequence", flat=True)]


class UnsealedProblem(Problem):
    """A contradiction outside the chain; ``sequence`` is the key of the row."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"row {self.sequence}, not in the chain: {self.text}"


class _Entry:
    """A sealed entry, and the problems of its place in the chain."""

    def __init__(
        self,
        columns: dict[str, Any],
        previous_entry: _Entry | None,
        purged_sequences: frozenset[int],
    ) -> None:
        self.columns = columns
        self.sequence: int = self.columns["sequence"]
        self.is_purged = self.sequence in purged_sequences
        self.chain_hash: str = self.columns["chain_hash"]
        self.expected_sequence = previous_entry.sequence + 1 if previous_entry else 1
        self.previous_hash = (
            previous_entry.chain_hash if previous_entry else ledger_verifier.GENESIS_HASH
        )
        #: The JSON object of its text, if that has the hash in the chain.
        self.content: dict[str, Any] = {}


class _TreeCheck:
    """Compares the tree of the entries with that of the head, where the chain is in order.

    ``tiles`` are the stored hashes by number, as they were before the head was read. Proofs take
    one that is missing from the entries.
    """

    def __init__(self, head: LedgerHead, tiles: dict[int, str]) -> None:
        self._head = head
        self._tiles = tiles
        self._frontier: list[str] = []
        self._is_intact = bool(head.frontier)

    def add_entry(self, entry: _Entry, problems: list[Problem]) -> Iterator[Problem]:
        """Add an entry with its problems; yield that of the tile that it completes."""
        self._is_intact = self._is_intact and not problems
        if not self._is_intact or entry.sequence > self._head.sequence:
            return
        text_hash = entry.columns["text_hash"]
        for tile in tree.append_hash(self._frontier, entry.sequence - 1, text_hash):
            if self._tiles.pop(tile.number, tile.node_hash) != tile.node_hash:
                yield _make_tile_problem(tile.number, "is another one")

    def find_problems(self) -> Iterator[Problem]:
        if not self._is_intact:
            return
        if self._frontier != self._head.frontier:
            yield Problem(0, "the tree of the entries is not the one that was signed")
        for number in sorted(self._tiles):
            yield _make_tile_problem(number, "is there before them")


def _make_tile_problem(number: int, text: str) -> Problem:
    """Return the problem of a stored hash of the tree, at the last entry that it is of."""
    last_sequence = (number + 1) * LedgerTile.SIZE
    first_sequence = number * LedgerTile.SIZE + 1
    return Problem(
        last_sequence,
        f"the stored hash of entries {first_sequence} to {last_sequence} {text}, so evidence "
        "bundles fail. Make it again: jpweb verify_ledger --rebuild-tiles",
    )


def _read_last_sequence() -> int:
    """Return the sequence of the last sealed entry; 0 for an empty ledger."""
    last_sequence: int | None = LedgerEntry.objects.aggregate(last=Max("sequence"))["last"]
    return last_sequence or 0


def _read_chain(up_to: int) -> Iterator[_Entry]:
    """Yield the sealed entries up to a sequence in the order of the chain, a batch a query."""
    previous_entry: _Entry | None = None
    purged_sequences: frozenset[int] = frozenset()
    while True:
        rows = LedgerEntry.objects.filter(sequence__lte=up_to).order_by("sequence")
        if previous_entry is not None:
            rows = rows.filter(sequence__gt=previous_entry.sequence)
        batch = list(rows.values(*_COLUMNS)[:_BATCH_ENTRIES])
        empty_sequences = {columns["sequence"] for columns in batch if not columns["text"]}
        if not empty_sequences <= purged_sequences:
            # Read after the batch: a purge that emptied one of its texts is on record by then.
            purged_sequences = retention.read_purged_sequences()
        for columns in batch:
            previous_entry = _Entry(columns, previous_entry, purged_sequences)
            yield previous_entry
        if len(batch) < _BATCH_ENTRIES:
            return


def _find_entry_problems(entry: _Entry) -> Iterator[Problem]:
    if entry.sequence != entry.expected_sequence:
        yield ledger_verifier.make_gap_problem(entry.expected_sequence, entry.sequence)
    text, text_hash = entry.columns["text"], entry.columns["text_hash"]
    if ledger_verifier.hash_link(entry.previous_hash, text_hash) != entry.chain_hash:
        yield Problem(entry.sequence, "it does not follow the entry before it")
    if not text:
        if not entry.is_purged:
            yield Problem(entry.sequence, "its text is gone, and no purge is on record")
        return
    if ledger_verifier.hash_text(text) != text_hash:
        yield Problem(entry.sequence, "its text was changed")
        return
    content = ledger_verifier.parse_object(text)
    if content is None:
        yield Problem(entry.sequence, ledger_verifier.NO_OBJECT)
        return
    entry.content = content
    if _derive_columns(content) != _select_derived(entry.columns):
        yield Problem(entry.sequence, "the columns that pages filter by differ from its text")
    yield from _find_event_problems(entry, content)


def _derive_columns(content: dict[str, Any]) -> dict[str, Any]:
    derived_columns = {column: content.get(key) for column, key in _KEY_BY_COLUMN.items()}
    derived_columns["subject"] = derived_columns["subject"] or ""
    by = content.get("by")
    person_id = by.get("id") if isinstance(by, dict) else None
    return derived_columns | {"person_id": person_id, "at": content.get("at")}


def _select_derived(columns: dict[str, Any]) -> dict[str, Any]:
    names = (*_KEY_BY_COLUMN, "person_id")
    return {name: columns[name] for name in names} | {"at": columns["at"].isoformat()}


def _find_event_problems(entry: _Entry, content: dict[str, Any]) -> Iterator[Problem]:
    act, details = content.get("act"), content.get("details")
    if not isinstance(details, dict):
        details = {}
    if act in _HASHING_ACTS:
        yield from _find_journal_problems(entry, details)
    elif act == Act.REDACTED:
        yield from _find_redaction_problems(entry, details)
    elif act == Act.PURGED and not retention.has_same_hashes(details):
        yield Problem(entry.sequence, "it cleared other texts than those that the chain had")


def _find_journal_problems(entry: _Entry, details: dict[str, Any]) -> Iterator[Problem]:
    """Compare the recorded event with the journal, unless its conversation is deleted."""
    conversation_id, anchor = entry.columns["conversation_id"], details.get("event")
    rows = JournalEntry.objects.filter(conversation_id=conversation_id, anchor=anchor)
    text = rows.values_list("text", flat=True).first()
    if text is None:
        if Conversation.objects.filter(pk=conversation_id).exists():
            yield Problem(entry.sequence, f"its event {anchor} is not in the journal")
    elif ledger_verifier.hash_text(text) != details.get("event_hash") and not is_redacted(
        conversation_id, str(anchor), text
    ):
        yield Problem(entry.sequence, f"its event {anchor} was changed in the journal")


def _find_redaction_problems(entry: _Entry, details: dict[str, Any]) -> Iterator[Problem]:
    """Compare the journal with redacted texts; a mirrored event may be gone from its file.

    Equal events share what the last redaction of any of them left, after a mirror pass.
    """
    conversation_id, anchor = entry.columns["conversation_id"], str(details.get("event"))
    rows = JournalEntry.objects.filter(conversation_id=conversation_id, anchor=anchor)
    text = rows.values_list("text", flat=True).first()
    if text is None or is_redacted(conversation_id, anchor, text):
        return
    content_anchor = anchor_ids.strip_ordinal(anchor)
    is_same_event = Q(anchor=content_anchor) | Q(anchor__startswith=f"{content_anchor}-x")
    redactions = Redaction.objects.filter(is_same_event, conversation_id=conversation_id)
    equal_anchors = set(redactions.values_list("anchor", flat=True))
    if not any(is_redacted(conversation_id, equal_anchor, text) for equal_anchor in equal_anchors):
        yield Problem(
            entry.sequence, f"its event {anchor} was changed in the journal after its redaction"
        )


def is_redacted(conversation_id: int, anchor: str, text: str) -> bool:
    """Tell whether the last redaction of an event on record left this text."""
    entries = LedgerEntry.objects.filter(
        conversation_id=conversation_id, act=Act.REDACTED, subject=f"event:{anchor}"
    )
    texts = entries.order_by("-id").values_list("text", "text_hash").first()
    details = read_details(*texts) if texts else {}
    if "redaction" not in details:
        return False
    key = (
        Redaction.objects.filter(pk=details["redaction"], anchor=anchor)
        .values_list("key", flat=True)
        .first()
    )
    return key is not None and keyed_hashes.compute_digest(key, text) == details["digest_after"]


def _find_head_problems(head: LedgerHead, last_sequence: int) -> Iterator[Problem]:
    if head.signed_at is None:
        if last_sequence:
            yield Problem(0, f"it is missing, and there are entries up to {last_sequence}")
        return
    yield from ledger_verifier.find_head_problems(signing.make_statement(head))
    if last_sequence < head.sequence:
        yield ledger_verifier.make_gap_problem(last_sequence + 1, head.sequence + 1)
    elif last_sequence > head.sequence:
        yield Problem(head.sequence + 1, "it is behind the signed head: it was inserted")
    elif not LedgerEntry.objects.filter(
        sequence=last_sequence, chain_hash=head.chain_hash
    ).exists():
        yield Problem(last_sequence, "the chain up to here is not the one that was signed")


def _find_repeated_settlements() -> Iterator[Problem]:
    settlements = LedgerEntry.objects.filter(act__in=SETTLING_ACTS).exclude(subject="")
    repeated_rows = (
        settlements.values("subject").annotate(entries=Count("id")).filter(entries__gt=1)
    )
    for subject in repeated_rows.order_by("subject").values_list("subject", flat=True):
        sequences = settlements.filter(subject=subject).order_by("sequence")
        last_sequence = sequences.values_list("sequence", flat=True).last() or 0
        yield Problem(last_sequence, f"{subject} is settled a second time")


def _find_repeated_entries() -> Iterator[Problem]:
    """Find copies of entries, which have valid MACs: each text has a nonce of its own."""
    sealed_entries = LedgerEntry.objects.filter(sequence__isnull=False).order_by()
    repeated_rows = sealed_entries.values("text_hash").annotate(
        first=Min("sequence"), entries=Count("id")
    )
    for row in repeated_rows.filter(entries__gt=1).order_by("first"):
        copies = sealed_entries.filter(text_hash=row["text_hash"], sequence__gt=row["first"])
        for sequence in copies.order_by("sequence").values_list("sequence", flat=True):
            yield Problem(sequence or 0, f"it is a copy of entry {row['first']}: it was inserted")


def _find_forgeries() -> Iterator[Problem]:
    for entry in entry_macs.iterate_unsealed():
        if not entry.is_authentic:
            yield UnsealedProblem(
                entry.key, "it was forged, or recorded with another secret key: its MAC is invalid"
            )

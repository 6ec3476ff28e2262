"""The ledger's entries of some conversations, with their proof against the signed head."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from django.db.models import Count, Q

from jpweb.evidence.ledger_verifier import encode_canonical, hash_text
from jpweb.evidence.record_checks import (
    IMPORT_ACT,
    REDACTION_ACT,
    get_place,
    list_redacted_places,
)
from jpweb.store.errors import ExportBroken, StoreError
from jpweb.store.ledger import sealing, signing, tree
from jpweb.store.ledger.entries import parse_content
from jpweb.store.models import LedgerEntry, LedgerHead

#: Entries of one query.
_BATCH_ENTRIES = 500


class HiddenEntries(NamedTuple):
    """The numbers of the ledger's entries that a slice leaves out, by their place."""

    of_other_conversations: int
    of_no_conversation: int
    purged: int


class LedgerSlice:
    """The sealed entries of some conversations, up to the head at the time of creation.

    Create it before the events are read: then each event that an entry names is in the bundle.
    Raises StoreError for a ledger whose head has no tree.
    """

    def __init__(self, conversation_ids: Sequence[int]) -> None:
        sealing.seal_entries()
        self._conversation_ids = list(conversation_ids)
        self._sequences: list[int] = []
        self.head: LedgerHead = sealing.get_head()
        self._redacted_places: set[tuple[Any, str]] = set()
        self._places_redacted_before: set[tuple[Any, str]] = set()
        if not self.head.frontier:
            raise StoreError("The ledger has no entry yet that this version of jpweb signed.")

    @property
    def entry_count(self) -> int:
        """The number of entries that ``write_entries`` has written."""
        return len(self._sequences)

    @property
    def redacted_event_count(self) -> int:
        """The number of events that the entries which ``write_entries`` has written redacted."""
        return len(self._redacted_places)

    @property
    def events_redacted_before_count(self) -> int:
        """The number of other events that were redacted before they were imported."""
        return len(self._places_redacted_before - self._redacted_places)

    def make_statement(self) -> dict[str, Any]:
        """Return the signed head."""
        return signing.make_statement(self.head)

    def write_entries(self) -> Iterator[bytes]:
        """Yield the entries in full, one a line, in the order of the chain."""
        self._sequences.clear()
        self._redacted_places.clear()
        self._places_redacted_before.clear()
        last_sequence = 0
        while batch := self._read_batch(last_sequence):
            lines = []
            for sequence, text, text_hash in batch:
                self._sequences.append(sequence)
                content = parse_content(text) if hash_text(text) == text_hash else {}
                if str(content.get("act")).startswith(REDACTION_ACT):
                    self._redacted_places.add(get_place({"sequence": sequence} | content))
                elif content.get("act") == IMPORT_ACT:
                    self._places_redacted_before |= list_redacted_places(content)
                line = {"sequence": sequence, "text": text, "text_hash": text_hash}
                lines.append(encode_canonical(line) + "\n")
            yield "".join(lines).encode("utf-8", "surrogatepass")
            last_sequence = batch[-1][0]

    def count_hidden_entries(self) -> HiddenEntries:
        """Return the numbers of the entries that ``write_entries`` left out."""
        rows = LedgerEntry.objects.filter(
            conversation_id=None, sequence__lte=self.head.sequence
        ).aggregate(all=Count("id"), purged=Count("id", filter=Q(text="")))
        orphan_count, purged_count = rows["all"], rows["purged"]
        return HiddenEntries(
            self.head.sequence - self.entry_count - orphan_count,
            orphan_count - purged_count,
            purged_count,
        )

    def write_proof(self) -> Iterator[bytes]:
        """Yield the hashes of the other entries; ``write_entries`` comes first."""
        nodes = list(tree.list_proof_nodes(self._sequences, self.head.sequence))
        yield (encode_canonical({"nodes": nodes}) + "\n").encode()

    def check_no_redaction(self) -> None:
        """Raise ExportBroken where an event was redacted since the head was signed."""
        later_entries = LedgerEntry.objects.filter(
            conversation_id__in=self._conversation_ids, act__startswith=REDACTION_ACT
        ).exclude(sequence__lte=self.head.sequence)
        if later_entries.exists():
            raise ExportBroken("An event was redacted while it was downloaded.")

    def _read_batch(self, after: int) -> list[tuple[int, str, str]]:
        rows = LedgerEntry.objects.filter(
            conversation_id__in=self._conversation_ids,
            sequence__gt=after,
            sequence__lte=self.head.sequence,
        ).exclude(text="")
        columns = rows.order_by("sequence").values_list("sequence", "text", "text_hash")
        return [
            (sequence or 0, text, text_hash)
            for sequence, text, text_hash in columns[:_BATCH_ENTRIES]
        ]

"""Retention: purged entries become tombstones, which still verify by their hashes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import groupby, islice
from typing import Any

from django.db import transaction

from jpweb.evidence import ledger_verifier
from jpweb.store.choices import Act
from jpweb.store.ledger import entry_macs
from jpweb.store.ledger.entries import Actor, Place, read_details, record_act
from jpweb.store.models import LedgerEntry
from jpweb.stream import timestamps

#: Acts whose entries a purge may empty: they name readers, not deciders.
PURGEABLE_ACTS = (Act.READ, Act.SEARCHED, Act.SIGNED_IN, Act.SIGNED_OUT)
#: Entries of one purge, which lists them by their sequences.
MAX_PURGED_ENTRIES = 10_000
#: Entries of one update, which names their keys.
_BATCH_ENTRIES = 500
#: Reads among which a purged one is looked for: the texts of the others were changed.
_OLDEST_READS = 100


@transaction.atomic
def purge_entries(before: datetime, actor: Actor) -> int:
    """Empty the oldest sealed entries of ``PURGEABLE_ACTS`` from before a time; return how many.

    The purge is an entry of its own, which lists their sequences. An entry whose text was changed,
    or whose text has another act or time than its columns, stays: verification names it.
    """
    entries = list(islice(_iterate_purgeable(before), MAX_PURGED_ENTRIES))
    if not entries:
        return 0
    for start in range(0, len(entries), _BATCH_ENTRIES):
        keys = [entry.pk for entry in entries[start : start + _BATCH_ENTRIES]]
        LedgerEntry.objects.filter(pk__in=keys).update(
            text="", subject="", person_id=None, workspace_id=None, conversation_id=None
        )
    hashes = {entry.sequence or 0: entry.text_hash for entry in entries}
    details = {"sequences": _format_ranges(hashes), "entries_hash": _hash_entries(hashes)}
    record_act(Act.PURGED, actor, Place(), before=before.isoformat(), **details)
    return len(entries)


def purge_all(before: datetime, actor: Actor) -> int:
    """Purge all entries from before a time, a transaction each ``MAX_PURGED_ENTRIES``."""
    total = 0
    while count := purge_entries(before, actor):
        total += count
    return total


def read_purged_sequences() -> frozenset[int]:
    """Return the sequences of all entries that a purge in the ledger lists.

    A purge that was forged or whose text was changed lists none: verification names it.
    """
    purges = LedgerEntry.objects.filter(act=Act.PURGED)
    return frozenset(
        sequence
        for entry in purges.only("sequence", "text", "text_hash", "mac")
        if not entry_macs.is_forged(entry)
        and (ranges := read_details(entry.text, entry.text_hash).get("sequences"))
        for sequence in _parse_ranges(ranges)
    )


def find_read_purge_time() -> datetime | None:
    """Return the time before which reads were purged; None where no purge emptied any.

    Purges take the oldest entries, so one of the oldest reads is a tombstone then, and the newest
    purge has the latest time. Two queries, whatever the ledger's size.
    """
    purge = LedgerEntry.objects.filter(act=Act.PURGED).order_by("-at", "-id").first()
    if purge is None or entry_macs.is_forged(purge):
        return None
    reads = LedgerEntry.objects.filter(act=Act.READ).order_by("at", "id")
    if "" not in list(reads.values_list("text", flat=True)[:_OLDEST_READS]):
        return None
    before = read_details(purge.text, purge.text_hash).get("before", "")
    return timestamps.parse_timestamp(str(before))


def count_purged(sequences: Any) -> int:
    """Return the number of entries in the ranges of a purge; 0 where they are no ranges."""
    try:
        bounds = [part.partition("-") for part in sequences.split(",")]
        return sum(int(end or begin) - int(begin) + 1 for begin, _, end in bounds)
    except (AttributeError, ValueError):  # a damaged entry has anything
        return 0


def count_tombstones(last_sequence: int) -> int:
    """Return the number of purged entries up to a sequence."""
    purgeable_entries = LedgerEntry.objects.filter(act__in=PURGEABLE_ACTS)
    return purgeable_entries.filter(sequence__lte=last_sequence, text="").count()


def has_same_hashes(details: dict[str, Any]) -> bool:
    """Tell whether the entries that a purge emptied still have the hashes of their texts.

    Otherwise a decision could be given the text and hash of a read until a purge has emptied it,
    and its own hash, which the chain has, afterwards. Purges of an earlier jpweb do not tell.
    """
    if "entries_hash" not in details:
        return True
    try:
        sequences = list(_parse_ranges(details["sequences"]))
    except (LookupError, ValueError, AttributeError):  # a forged entry has anything
        return False
    hashes: dict[int, str] = {}
    for start in range(0, len(sequences), _BATCH_ENTRIES):
        rows = LedgerEntry.objects.filter(sequence__in=sequences[start : start + _BATCH_ENTRIES])
        values = rows.order_by("sequence").values_list("sequence", "text_hash")
        hashes |= {sequence or 0: text_hash for sequence, text_hash in values}
    entries_hash: str = details["entries_hash"]
    return _hash_entries(hashes) == entries_hash


def _hash_entries(hashes: Mapping[int, str]) -> str:
    """Return the hash of text hashes by sequence, in ascending order."""
    lines = (f"{sequence} {text_hash}\n" for sequence, text_hash in hashes.items())
    return ledger_verifier.hash_text("".join(lines))


def _iterate_purgeable(before: datetime) -> Iterator[LedgerEntry]:
    """Yield the entries that a purge may empty, in the order of the chain."""
    rows = LedgerEntry.objects.filter(act__in=PURGEABLE_ACTS, at__lt=before).exclude(text="")
    rows = rows.order_by("sequence").only("sequence", "text", "text_hash")
    last_sequence = 0
    while page := list(rows.filter(sequence__gt=last_sequence)[:MAX_PURGED_ENTRIES]):
        yield from (entry for entry in page if _is_purgeable(entry, before))
        last_sequence = page[-1].sequence or 0


def _is_purgeable(entry: LedgerEntry, before: datetime) -> bool:
    """Tell whether the sealed text of an entry may be emptied: its columns are not in the chain."""
    if ledger_verifier.hash_text(entry.text) != entry.text_hash:
        return False
    try:
        content = json.loads(entry.text)
        act, is_old = content["act"], datetime.fromisoformat(content["at"]) < before
    except (ValueError, LookupError, TypeError, RecursionError):
        return False
    return is_old and act in PURGEABLE_ACTS


def _format_ranges(sequences: Iterable[int]) -> str:
    """Return ascending numbers as ranges, such as ``3,5-9``."""
    runs = groupby(enumerate(sequences), key=lambda pair: pair[1] - pair[0])
    numbers = [[sequence for _, sequence in run] for _, run in runs]
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in numbers)


def _parse_ranges(text: str) -> Iterator[int]:
    for part in text.split(","):
        begin, _, end = part.partition("-")
        yield from range(int(begin), int(end or begin) + 1)

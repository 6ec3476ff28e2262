"""Retention: purged entries become tombstones, which still verify by their hashes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby

from django.db import transaction

from jpweb.store.choices import Act
from jpweb.store.ledger import entry_macs
from jpweb.store.ledger.entries import Actor, Place, read_details, record_act
from jpweb.store.models import LedgerEntry

#: Acts whose entries a purge may empty: they say who looked, not who decided.
PURGEABLE_ACTS = (Act.READ, Act.SEARCHED, Act.SIGNED_IN, Act.SIGNED_OUT)
#: Entries of one purge, which lists them by their sequences.
MAX_PURGED_ENTRIES = 10_000


@transaction.atomic
def purge_entries(before: datetime, actor: Actor) -> int:
    """Empty the oldest sealed entries of ``PURGEABLE_ACTS`` from before a time; return how many.

    The purge is an entry of its own, which lists their sequences.
    """
    purgeable = LedgerEntry.objects.filter(
        sequence__isnull=False, act__in=PURGEABLE_ACTS, at__lt=before
    ).exclude(text="")
    oldest = purgeable.order_by("sequence")[:MAX_PURGED_ENTRIES]
    sequences = [entry.sequence or 0 for entry in oldest.only("sequence")]
    if not sequences:
        return 0
    purgeable.filter(sequence__lte=sequences[-1]).update(
        text="", subject="", person_id=None, workspace_id=None, conversation_id=None
    )
    ranges = _format_ranges(sequences)
    record_act(Act.PURGED, actor, Place(), before=before.isoformat(), sequences=ranges)
    return len(sequences)


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


def _format_ranges(sequences: Iterable[int]) -> str:
    """Return ascending numbers as ranges, such as ``3,5-9``."""
    runs = groupby(enumerate(sequences), key=lambda pair: pair[1] - pair[0])
    numbers = [[sequence for _, sequence in run] for _, run in runs]
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in numbers)


def _parse_ranges(text: str) -> Iterator[int]:
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)

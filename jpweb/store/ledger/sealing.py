"""Sealing: gives committed entries their places in the chain, and signs the new head."""

from __future__ import annotations

from django.db import transaction

from jpweb.evidence import ledger_verifier
from jpweb.store.database import clock
from jpweb.store.ledger import signing, tree
from jpweb.store.models import LedgerEntry, LedgerHead
from jpweb.store.sql import bulk, compiled_write
from jpweb.store.sql.compiled_query import CompiledQuery

#: Entries of one transaction; 500 take about 10 ms.
BATCH_ENTRIES = 500
_HEAD_COLUMNS = (
    "sequence", "chain_hash", "signed_at", "public_key", "signature", "frontier",
)  # fmt: skip


def seal_entries() -> int:
    """Seal the committed entries that are not in the chain yet; return how many."""
    total = 0
    while _has_unsealed():
        count = _seal_batch()
        total += count
        if count < BATCH_ENTRIES:
            break
    return total


def get_head() -> LedgerHead:
    """Return the head; that of an empty ledger is not signed."""
    return LedgerHead.objects.filter(pk=LedgerHead.ROW_ID).first() or LedgerHead(
        sequence=0, chain_hash=ledger_verifier.GENESIS_HASH
    )


def _has_unsealed() -> bool:
    # Asked without a transaction: on SQLite one would take the write lock every second.
    return bool(_unsealed_query())


_unsealed_query = CompiledQuery(
    lambda: LedgerEntry.objects.filter(sequence__isnull=True).order_by("id").values_list("pk")[:1]
)


@transaction.atomic
def _seal_batch() -> int:
    """Seal the oldest entries under the head's lock: writers of several processes take turns."""
    head = _lock_head()
    unsealed = LedgerEntry.objects.filter(sequence__isnull=True).order_by("id")
    entries = list(unsealed.values_list("pk", "text_hash")[:BATCH_ENTRIES])
    if not entries:
        return 0
    chain_hashes = list(
        ledger_verifier.iter_chain_hashes(head.chain_hash, (text_hash for _, text_hash in entries))
    )
    rows = [
        (sequence, chain_hash, key)
        for sequence, (chain_hash, (key, _)) in enumerate(
            zip(chain_hashes, entries, strict=True), head.sequence + 1
        )
    ]
    bulk.update_rows(LedgerEntry.TABLE, "id", ("sequence", "chain_hash"), rows)
    tree.append_entries(head, [text_hash for _, text_hash in entries])
    head.sequence, head.chain_hash = head.sequence + len(rows), chain_hashes[-1]
    head.signed_at = clock.now()
    head.public_key, head.signature = signing.sign_head(head)
    values = {name: getattr(head, name) for name in _HEAD_COLUMNS}
    compiled_write.update_rows(LedgerHead, {"id": head.pk}, **values)
    return len(rows)


def _lock_head() -> LedgerHead:
    heads: list[LedgerHead] = _locked_head_query([LedgerHead.ROW_ID])
    if not heads:
        LedgerHead.objects.get_or_create(
            pk=LedgerHead.ROW_ID, defaults={"chain_hash": ledger_verifier.GENESIS_HASH}
        )
        heads = _locked_head_query([LedgerHead.ROW_ID])
    return heads[0]


_locked_head_query = CompiledQuery(
    lambda keys: LedgerHead.objects.select_for_update().filter(pk__in=keys)
)

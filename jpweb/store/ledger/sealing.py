"""Sealing: gives committed entries their places in the chain, and signs the new head.

Entries without a valid MAC are left out, and go on to be named (``entry_macs``). Behind a head that
was changed after it was signed nothing is sealed: the new signature would cover what was inserted.
A head of another key is one of a restored backup, of an earlier secret key, or forged. So the
change of the key is an entry.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import islice

from django.db import transaction

from jpweb.evidence import ledger_verifier
from jpweb.store.choices import Act
from jpweb.store.database import clock
from jpweb.store.errors import WrongSecretKey
from jpweb.store.ledger import entry_macs, signing, tree
from jpweb.store.ledger.entries import SYSTEM, Place, record_act
from jpweb.store.ledger.entry_macs import UnsealedEntry
from jpweb.store.models import LedgerEntry, LedgerHead
from jpweb.store.sql import bulk, compiled_write
from jpweb.store.sql.compiled_query import CompiledQuery

logger = logging.getLogger(__name__)

#: Entries of one transaction; 500 take about 10 ms.
BATCH_ENTRIES = 500
_HEAD_COLUMNS = (
    "sequence", "chain_hash", "signed_at", "public_key", "signature", "frontier",
)  # fmt: skip
#: Problems that a process logs, each once: the keys of forged entries, the signatures of heads.
_MAX_LOGGED_PROBLEMS = 100
_logged_problems: set[int | str] = set()


def seal_entries() -> int:
    """Seal the committed entries that are not in the chain yet; return how many."""
    total = 0
    # Asked without a transaction: on SQLite one would take the write lock every second.
    while oldest_entry := next(_iterate_authentic(), None):
        count = _seal_batch(oldest_entry.key)
        total += count
        if count < BATCH_ENTRIES:
            break
    return total


def get_head() -> LedgerHead:
    """Return the head; that of an empty ledger is not signed."""
    return LedgerHead.objects.filter(pk=LedgerHead.ROW_ID).first() or LedgerHead(
        sequence=0, chain_hash=ledger_verifier.GENESIS_HASH
    )


def has_other_key() -> bool:
    """Tell whether the key of another secret key has signed the head.

    A head that was changed after it was signed names no key for certain.
    """
    head = get_head()
    return not signing.has_own_key(head) and signing.is_head_intact(head)


def require_own_key() -> None:
    """Raise WrongSecretKey where the key of another secret key has signed the head.

    Entries of this process would be recorded with MACs that count as forged for the server.
    """
    if has_other_key():
        raise WrongSecretKey(
            "The ledger is signed with another key: set JPWEB_SECRET_KEY as for the server, or "
            "start jpweb with the new key first."
        )


def adopt_key() -> None:
    """Seal the change of the key where another one has signed the head, without other entries.

    It is called where the operator has decided on this process's key: as a server starts, and
    after a restore. Other commands are refused until then.
    """
    if signing.has_own_key(get_head()):
        return
    with transaction.atomic():
        head = _lock_head()
        if not signing.has_own_key(head) and signing.is_head_intact(head):
            _seal_key_change(head)


@transaction.atomic
def rebuild_tiles() -> int:
    """Make the stored hashes of the tree again; return how many differed.

    Raises StoreError where the entries do not lead to the signed head.
    """
    return tree.rebuild_tiles(_lock_head())


def _iterate_authentic(first_key: int | None = None) -> Iterator[UnsealedEntry]:
    """Yield the unsealed entries that this installation recorded; log the others."""
    for entry in entry_macs.iterate_unsealed(first_key):
        if entry.is_authentic:
            yield entry
        else:
            _log_once(
                entry.key,
                f"The ledger's row {entry.key} has no valid MAC: it was forged, or recorded with "
                "another secret key. It stays out of the chain; “jpweb verify_ledger” names all "
                "such rows.",
            )


def _log_once(problem: int | str, message: str) -> None:
    if problem not in _logged_problems and len(_logged_problems) < _MAX_LOGGED_PROBLEMS:
        _logged_problems.add(problem)
        logger.error(message)


@transaction.atomic
def _seal_batch(first_key: int) -> int:
    """Seal entries from a key on under the head's lock: writers of several processes take turns."""
    head = _lock_head()
    if not signing.is_head_intact(head):
        _log_once(
            head.signature,
            "The ledger's head was changed after it was signed, so no entry is chained behind it. "
            "“jpweb verify_ledger” says more; restore an earlier backup.",
        )
        return 0
    if not signing.has_own_key(head):
        _seal_key_change(head)
    entries = list(islice(_iterate_authentic(first_key), BATCH_ENTRIES))
    if entries:
        _append_entries(head, entries)
    return len(entries)


def _seal_key_change(head: LedgerHead) -> None:
    """Seal an entry that says whose key signed the head so far, before any other entry."""
    _log_once(
        head.signature,
        f"The ledger's head was signed with another key, {head.public_key}. Unless the secret key "
        "was changed or a backup restored, somebody has forged it.",
    )
    public_key = signing.get_public_key()
    key = record_act(
        Act.LEDGER_KEY_CHANGED, SYSTEM, Place(), old_key=head.public_key, new_key=public_key
    )
    _append_entries(head, [next(_iterate_authentic(key))])


def _append_entries(head: LedgerHead, entries: Sequence[UnsealedEntry]) -> None:
    """Append entries to the chain and the tree of the locked head, and sign it."""
    text_hashes = [entry.text_hash for entry in entries]
    chain_hashes = list(ledger_verifier.iter_chain_hashes(head.chain_hash, text_hashes))
    rows = [
        (sequence, chain_hash, None, entry.key)
        for sequence, (chain_hash, entry) in enumerate(
            zip(chain_hashes, entries, strict=True), head.sequence + 1
        )
    ]
    bulk.update_rows(LedgerEntry.TABLE, "id", ("sequence", "chain_hash", "mac"), rows)
    tree.append_entries(head, text_hashes)
    head.sequence, head.chain_hash = head.sequence + len(rows), chain_hashes[-1]
    head.signed_at = clock.now()
    head.public_key, head.signature = signing.sign_head(head)
    values = {name: getattr(head, name) for name in _HEAD_COLUMNS}
    compiled_write.update_rows(LedgerHead, {"id": head.pk}, **values)


def _lock_head() -> LedgerHead:
    heads: list[LedgerHead] = _locked_head_query([LedgerHead.ROW_ID])
    if not heads:
        LedgerHead.objects.get_or_create(
            pk=LedgerHead.ROW_ID, defaults={"chain_hash": ledger_verifier.GENESIS_HASH}
        )
        heads = _locked_head_query([LedgerHead.ROW_ID])
    return heads[0]


#: The ORM takes 0.1 ms longer, every second.
_locked_head_query = CompiledQuery(
    lambda keys: LedgerHead.objects.select_for_update().filter(pk__in=keys)
)
